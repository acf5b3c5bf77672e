"""Cosines and sines of rotations, for every position that was asked for so far."""

import numpy as np
from numpy.typing import NDArray

from llama.kernels.graph import Rope
from llama.kernels.memory import Memory

FIRST = 512  # positions that a table begins with


class RopeTables:
    """One table a rope: (positions, 2, pairs) float32. Kernels read a table's address from its slot."""

    def __init__(self, ropes: list[Rope], n_ctx: int) -> None:
        self._ropes = ropes
        self._slots = Memory(8 * max(1, len(ropes)))
        self._addresses: NDArray[np.int64] = self._slots.bytes.view(np.int64)
        self._tables: list[Memory] = []
        self._positions = 0
        self.cover(min(n_ctx, FIRST) or FIRST)

    def slot(self, index: int) -> int:
        """Where the address of a table stands."""
        return self._slots.address + 8 * index

    def cover(self, positions: int) -> None:
        """Make the tables reach so far; they grow by doubling."""
        if positions <= self._positions:
            return
        self._positions = max(positions, 2 * self._positions)
        self._tables = [self._table(rope) for rope in self._ropes]
        for i, table in enumerate(self._tables):
            self._addresses[i] = table.address

    def _table(self, rope: Rope) -> Memory:
        table = np.empty((self._positions, 2, len(rope.frequencies)), np.float32)
        angles = np.arange(self._positions, dtype=np.float64)[:, None] * rope.frequencies
        table[:, 0] = np.cos(angles) * rope.magnitude
        table[:, 1] = np.sin(angles) * rope.magnitude
        return Memory.of(table)
