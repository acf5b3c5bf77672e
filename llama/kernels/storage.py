"""What sequences keep between steps: cache blocks and recurrent states, layer by layer."""

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
        self._caches = [Memory(size * n_blocks) for size in self._sizes]
        self._states = [Memory(size * n_states) for size in self._state_sizes]
        if sum(cache.size for cache in self._caches) <= TOUCHED_AT_ONCE:
            for cache in self._caches:
                cache.bytes.fill(0)

    def address(self, kind: str, index: int) -> int:
        """Where a cache layer or a state layer begins."""
        return (self._caches if kind == "cache" else self._states)[index].address

    def reset_states(self, batch: Batch) -> None:
        """Clear the states of sequences that begin."""
        if self._state_sizes:
            for state in batch.states[batch.positions == 0]:
                for row in self._rows(self._states, self._state_sizes, int(state)):
                    row[:] = 0

    @staticmethod
    def _rows(memories: list[Memory], sizes: list[int], index: int) -> list[NDArray[np.uint8]]:
        pairs = zip(memories, sizes, strict=True)
        return [memory.bytes[index * size : (index + 1) * size] for memory, size in pairs]

    def copy_block(self, source: int, target: int) -> None:
        """Copy all layers of a cache block."""
        _copy(self._rows(self._caches, self._sizes, source), self._rows(self._caches, self._sizes, target))

    def copy_state(self, source: int, target: int) -> None:
        """Copy all layers of a state slot."""
        sizes = self._state_sizes
        _copy(self._rows(self._states, sizes, source), self._rows(self._states, sizes, target))

    def read_block(self, block: int) -> bytes:
        """The content of a cache block."""
        return b"".join(row.tobytes() for row in self._rows(self._caches, self._sizes, block))

    def write_block(self, block: int, content: bytes) -> None:
        """Put back what `read_block` gave. Raises ValueError for another size."""
        _fill(self._rows(self._caches, self._sizes, block), content)

    def read_state(self, state: int) -> bytes:
        """The content of a state slot."""
        return b"".join(row.tobytes() for row in self._rows(self._states, self._state_sizes, state))

    def write_state(self, state: int, content: bytes) -> None:
        """Put back what `read_state` gave. Raises ValueError for another size."""
        _fill(self._rows(self._states, self._state_sizes, state), content)


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
