"""Blocks of memory that begin at a cache line and are only taken from the system when they are touched."""

import numpy as np
from numpy.typing import NDArray

ALIGNMENT = 64
SLACK = 64  # vectors may be read past the end of a row, never written


class Memory:
    """`size` zero bytes. Address arithmetic is ours to get right: nothing checks it."""

    def __init__(self, size: int) -> None:
        self._owner = np.zeros(size + ALIGNMENT + SLACK, np.uint8)
        offset = -self._owner.ctypes.data % ALIGNMENT
        self.bytes: NDArray[np.uint8] = self._owner[offset : offset + size]
        self.address = int(self.bytes.ctypes.data)
        self.size = size

    @classmethod
    def of(cls, values: NDArray[np.generic]) -> "Memory":
        """A copy of an array's bytes."""
        made = cls(values.nbytes)
        made.bytes[:] = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        return made
