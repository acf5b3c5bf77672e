"""A weight tensor as the model file has it: a name, a GGML type, a shape, and bytes in a memory map."""

from dataclasses import dataclass, replace

import numpy as np
from gguf import GGMLQuantizationType
from gguf.quants import dequantize
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """One weight tensor, still packed.

    shape is in numpy's order, rows of `shape[-1]` elements: (out, in), (experts, out, in) or (n,).
    data holds the packed bytes, uint8, shape (*shape[:-1], bytes a row); usually a view of the map.
    """

    name: str
    type: GGMLQuantizationType
    shape: tuple[int, ...]
    data: NDArray[np.uint8]

    def floats(self) -> NDArray[np.float32]:
        """The dequantised values, float32, of `shape`."""
        return np.ascontiguousarray(dequantize(self.data, self.type), dtype=np.float32).reshape(self.shape)

    def rows(self, start: int, stop: int) -> "Tensor":
        """Rows start..stop of a matrix, sharing its bytes."""
        return replace(
            self, name=f"{self.name}[{start}:{stop}]", shape=(stop - start, *self.shape[1:]), data=self.data[start:stop]
        )
