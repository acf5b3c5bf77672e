"""A weight tensor as the model file has it: a name, a GGML type, a shape, and bytes in a memory map."""

from dataclasses import dataclass, replace

import numpy as np
from gguf import GGMLQuantizationType
from gguf.quants import dequantize as gguf_dequantize
from numpy.typing import NDArray

#: GGML's id of a type that the gguf package does not list yet; a `Tensor.type` is this plain number then.
Q2_0 = 42


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """One weight tensor, still packed.

    shape is in numpy's order, rows of `shape[-1]` elements: (out, in), (experts, out, in) or (n,).
    data holds the packed bytes, uint8, shape (*shape[:-1], bytes a row); usually a view of the map.
    """

    name: str
    type: GGMLQuantizationType | int
    shape: tuple[int, ...]
    data: NDArray[np.uint8]

    @classmethod
    def of(cls, name: str, values: NDArray[np.float32]) -> "Tensor":
        """An F32 tensor made of computed values."""
        values = np.ascontiguousarray(values, dtype=np.float32)
        return cls(name, GGMLQuantizationType.F32, values.shape, values.view(np.uint8))

    def floats(self) -> NDArray[np.float32]:
        """The dequantised values, float32, of `shape`."""
        return dequantize(self.data, self.type).reshape(self.shape)

    def rows(self, start: int, stop: int) -> "Tensor":
        """Rows start..stop of a matrix, or elements of an unquantised vector, sharing its bytes."""
        name = f"{self.name}[{start}:{stop}]"
        if len(self.shape) > 1:
            return replace(self, name=name, shape=(stop - start, *self.shape[1:]), data=self.data[start:stop])
        size = self.data.nbytes // self.shape[0]
        return replace(self, name=name, shape=(stop - start,), data=self.data[start * size : stop * size])

    def matrix(self, index: int) -> "Tensor":
        """One matrix of a stack, sharing its bytes."""
        return replace(self, name=f"{self.name}[{index}]", shape=self.shape[1:], data=self.data[index])


def dequantize(data: NDArray[np.uint8], kind: int) -> NDArray[np.float32]:
    """Unpack rows of bytes (..., row bytes) of a GGML type into float32 rows."""
    if int(kind) in _UNPACK:
        block, unpack = _UNPACK[int(kind)]
        return unpack(data.reshape(-1, block)).reshape(*data.shape[:-1], -1)
    return np.ascontiguousarray(gguf_dequantize(data, GGMLQuantizationType(kind)), dtype=np.float32)


def _unpack_q1_0(blocks: NDArray[np.uint8]) -> NDArray[np.float32]:
    """128 signs and a half-precision scale: bit set is +d, clear is -d."""
    d = blocks[:, :2].copy().view(np.float16).astype(np.float32)
    signs = np.unpackbits(blocks[:, 2:], axis=1, bitorder="little").astype(np.float32) * 2 - 1
    return signs * d


def _unpack_q2_0(blocks: NDArray[np.uint8]) -> NDArray[np.float32]:
    """64 two-bit codes, lowest bits first, and a half-precision scale: (code - 1) * d."""
    d = blocks[:, :2].copy().view(np.float16).astype(np.float32)
    codes = (blocks[:, 2:, None] >> np.array([0, 2, 4, 6], np.uint8)) & 3
    return (codes.reshape(len(blocks), -1).astype(np.float32) - 1) * d


#: Types that the gguf package cannot unpack: bytes a block, function.
_UNPACK = {int(GGMLQuantizationType.Q1_0): (18, _unpack_q1_0), Q2_0: (18, _unpack_q2_0)}
