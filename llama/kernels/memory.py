"""Blocks of memory that begin at a cache line and are only taken from the system when they are touched."""

import mmap
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

ALIGNMENT = 64
SLACK = 64  # vectors may be read past the end of a row, never written
HUGE = 2 << 20  # bytes of a huge page
LARGE = 1 << 20  # from here on in huge pages where the system has them: fewer address look-ups


class Memory:
    """`size` zero bytes. Address arithmetic is ours to get right: nothing checks it."""

    def __init__(self, size: int) -> None:
        self._owner = (
            _large(size + ALIGNMENT + SLACK) if size >= LARGE else np.zeros(size + ALIGNMENT + SLACK, np.uint8)
        )
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


def _large(size: int) -> NDArray[np.uint8]:
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        return np.zeros(size, np.uint8)
    size = -(-size // HUGE) * HUGE  # whole pages, and private: shared memory has small ones
    block = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # a kernel without them
        block.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(block, np.uint8)
