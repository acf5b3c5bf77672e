"""What sequences keep between steps: cache blocks and recurrent states, layer by layer."""

from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from llama.kernels.attention_tiles import CacheType
from llama.kernels.batch import Batch
from llama.kernels.graph import Graph
from llama.kernels.memory import Memory


def state_bytes(size: int) -> int:
    """Bytes of a state of `size` floats."""
    return -(-4 * size // 64) * 64


#: A cache of up to so many bytes is taken from the system at once. Else a block that is the first in its huge pages,
#: one a layer, makes a step a hundred milliseconds long; a larger cache still grows with what is asked of it.
TOUCHED_AT_ONCE = 1 << 30


class Storage:
    """Memory of all cache layers (n_blocks, block bytes) and of all states (n_states, floats)."""

    def __init__(self, graph: Graph, type_k: CacheType, type_v: CacheType) -> None:
        self._sizes = [
            layer.n_head_kv * (type_k.head_bytes(layer.head_k) + type_v.head_bytes(layer.head_v))
            for layer in graph.cache_layers
        ]
        self._state_sizes = [state_bytes(size) for size in graph.state_sizes]
        self.block_bytes = sum(self._sizes)
        self.allocate(0, 0)

    def allocate(self, n_blocks: int, n_states: int) -> None:
        """Make room, dropping what was there."""
        # one piece of memory for all layers: a piece each would waste half a huge page a layer
        self._caches = Memory(self.block_bytes * n_blocks)
        self._states = Memory(sum(self._state_sizes) * n_states)
        self._n_blocks, self._n_states = n_blocks, n_states
        if self._caches.size <= TOUCHED_AT_ONCE:
            self._caches.bytes.fill(0)

    def address(self, kind: str, index: int) -> int:
        """Where a cache layer or a state layer begins."""
        if kind == "cache":
            return self._caches.address + sum(self._sizes[:index]) * self._n_blocks
        return self._states.address + sum(self._state_sizes[:index]) * self._n_states

    def reset_states(self, batch: Batch) -> None:
        """Clear the states of sequences that begin."""
        if self._state_sizes:
            for state in batch.states[batch.positions == 0]:
                for row in self._state_rows(int(state)):
                    row[:] = 0

    def _block_rows(self, block: int) -> list[NDArray[np.uint8]]:
        """A block's bytes, layer by layer."""
        return _rows(self._caches, self._sizes, self._n_blocks, block)

    def _state_rows(self, state: int) -> list[NDArray[np.uint8]]:
        """A state's bytes, layer by layer."""
        return _rows(self._states, self._state_sizes, self._n_states, state)

    def copy_block(self, source: int, target: int) -> None:
        """Copy all layers of a cache block."""
        _copy(self._block_rows(source), self._block_rows(target))

    def copy_state(self, source: int, target: int) -> None:
        """Copy all layers of a state slot."""
        _copy(self._state_rows(source), self._state_rows(target))

    def read_block(self, block: int) -> bytes:
        """The content of a cache block."""
        return b"".join(row.tobytes() for row in self._block_rows(block))

    def write_block(self, block: int, content: bytes) -> None:
        """Put back what `read_block` gave. Raises ValueError for another size."""
        _fill(self._block_rows(block), content)

    def read_state(self, state: int) -> bytes:
        """The content of a state slot."""
        return b"".join(row.tobytes() for row in self._state_rows(state))

    def write_state(self, state: int, content: bytes) -> None:
        """Put back what `read_state` gave. Raises ValueError for another size."""
        _fill(self._state_rows(state), content)


def _rows(memory: Memory, sizes: list[int], count: int, index: int) -> list[NDArray[np.uint8]]:
    """Of `count` entries in each layer, those of one index."""
    starts = [0, *accumulate(size * count for size in sizes)]
    return [memory.bytes[start + index * size :][:size] for start, size in zip(starts[:-1], sizes, strict=True)]


def _copy(sources: list[NDArray[np.uint8]], targets: list[NDArray[np.uint8]]) -> None:
    for source, target in zip(sources, targets, strict=True):
        target[:] = source


def _fill(targets: list[NDArray[np.uint8]], content: bytes) -> None:
    if len(content) != sum(len(row) for row in targets):
        raise ValueError(f"{len(content)} bytes do not fit a place of {sum(len(row) for row in targets)}")
    start = 0
    for row in targets:
        row[:] = np.frombuffer(content, np.uint8, len(row), start)
        start += len(row)
