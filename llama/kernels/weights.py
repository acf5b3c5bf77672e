"""The weights of one executor: each tensor packed once, small ones as floats."""

import numpy as np
from numpy.typing import NDArray

from llama.kernels.memory import Memory
from llama.kernels.packing import Packed, Packer
from llama.kernels.tensor import Tensor


class Weights:
    """Packed matrices and float vectors by tensor. Keeps everything that steps point into."""

    def __init__(self, packer: Packer) -> None:
        self._packer = packer
        self._packed: dict[int, Packed] = {}
        self._vectors: dict[int, Memory] = {}
        self._tensors: list[Tensor] = []  # keeps ids unique
        self._kept: list[Memory] = []

    @property
    def signed(self) -> bool:
        """Whether 8-bit codes are kept as int8."""
        return self._packer.signed

    def packed(self, tensor: Tensor) -> Packed:
        """The matrices of a tensor, packed at the first call."""
        key = _key(tensor)
        if key not in self._packed:
            self._tensors.append(tensor)
            self._packed[key] = self._packer.pack(tensor)
        return self._packed[key]

    def floats(self, tensor: Tensor | None) -> int:
        """Address of a small tensor's values as float32, padded to whole vectors; 0 for none."""
        if tensor is None:
            return 0
        key = id(tensor)
        if key not in self._vectors:
            self._tensors.append(tensor)
            self._vectors[key] = Memory.of(np.pad(tensor.floats().reshape(-1), (0, 16)))
        return self._vectors[key].address

    def keep(self, values: NDArray[np.generic]) -> int:
        """Address of a copy of an array that lives as long as the weights."""
        memory = Memory.of(values)
        self._kept.append(memory)
        return memory.address


def _key(tensor: Tensor) -> int:
    """Tied weights come as two tensors over the same bytes of the file."""
    return hash((int(tensor.type), tensor.shape, tensor.data.ctypes.data))
