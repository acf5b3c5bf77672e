"""What sequences keep between steps: keys and values in blocks of positions, and recurrent states."""

import numpy as np
from gguf import GGMLQuantizationType
from gguf.quants import dequantize, quantize
from numpy.typing import NDArray

from llama.errors import SettingsError
from llama.kernels.graph import CacheLayer, Graph

Floats = NDArray[np.float32]

#: How each cache type is stored here. Block types are rounded to what the type can hold and stored as float32.
_ROUNDED = {
    "bf16": GGMLQuantizationType.BF16,
    "q8_0": GGMLQuantizationType.Q8_0,
    "q5_1": GGMLQuantizationType.Q5_1,
    "q5_0": GGMLQuantizationType.Q5_0,
    "q4_1": GGMLQuantizationType.Q4_1,
    "q4_0": GGMLQuantizationType.Q4_0,
}
CACHE_TYPES = ("f32", "f16", *_ROUNDED)


class Pages:
    """Keys, or values, of one layer: (blocks, positions a block, columns)."""

    def __init__(self, kind: str, columns: int, block_size: int) -> None:
        if kind not in CACHE_TYPES:
            raise SettingsError(f"cache type must be one of {', '.join(CACHE_TYPES)}, got {kind}")
        if kind in _ROUNDED and kind != "bf16" and columns % 32:
            raise SettingsError(f"cache type {kind} needs rows of whole blocks of 32, this model has {columns} columns")
        self._round = _ROUNDED.get(kind)
        self._shape = (block_size, columns)
        self.data = np.zeros((0, *self._shape), np.float16 if kind == "f16" else np.float32)

    @property
    def block_bytes(self) -> int:
        """Bytes of one block."""
        return int(np.prod(self._shape)) * self.data.itemsize

    def allocate(self, n_blocks: int) -> None:
        """Empty blocks in place of what was there."""
        self.data = np.zeros((n_blocks, *self._shape), self.data.dtype)

    def write(self, blocks: NDArray[np.int64], slots: NDArray[np.int64], rows: Floats) -> None:
        """Put rows at (block, position in the block)."""
        if self._round is not None:
            rows = dequantize(quantize(np.ascontiguousarray(rows), self._round), self._round)
        self.data[blocks, slots] = rows

    def read(self, blocks: NDArray[np.int32], n: int) -> Floats:
        """(n, columns) the first n positions of a sequence."""
        return self.data[blocks].reshape(-1, self._shape[1])[:n].astype(np.float32, copy=False)


class LayerCache:
    """Keys and values of one cache layer."""

    def __init__(self, layer: CacheLayer, block_size: int, type_k: str, type_v: str) -> None:
        self.layer = layer
        self.block_size = block_size
        self.keys = Pages(type_k, layer.n_head_kv * layer.head_k, block_size)
        self.values = Pages(type_v, layer.n_head_kv * layer.head_v, block_size)

    def append(self, table: NDArray[np.int32], first: int, k: Floats, v: Floats) -> None:
        """Store rows of a sequence whose block table is `table`, from position `first` on."""
        at = np.arange(first, first + len(k))
        blocks, slots = table[at // self.block_size].astype(np.int64), at % self.block_size
        self.keys.write(blocks, slots, k)
        self.values.write(blocks, slots, v)

    def read(self, table: NDArray[np.int32], n: int) -> tuple[Floats, Floats]:
        """(heads, n, head_k) and (heads, n, head_v) of the first n positions."""
        blocks = table[: -(-n // self.block_size)]
        heads = self.layer.n_head_kv
        k = self.keys.read(blocks, n).reshape(n, heads, self.layer.head_k)
        v = self.values.read(blocks, n).reshape(n, heads, self.layer.head_v)
        return k.transpose(1, 0, 2), v.transpose(1, 0, 2)


class Memory:
    """All cache layers and all recurrent states of a graph."""

    def __init__(self, graph: Graph, block_size: int, type_k: str, type_v: str) -> None:
        self.layers = [LayerCache(layer, block_size, type_k, type_v) for layer in graph.cache_layers]
        self.states = [np.zeros((0, size), np.float32) for size in graph.state_sizes]

    @property
    def pages(self) -> list[Pages]:
        """Keys and values of every layer, in a fixed order."""
        return [pages for layer in self.layers for pages in (layer.keys, layer.values)]

    def allocate(self, n_blocks: int, n_states: int) -> None:
        """Empty blocks and states in place of what was there."""
        for pages in self.pages:
            pages.allocate(n_blocks)
        self.states = [np.zeros((n_states, state.shape[1]), np.float32) for state in self.states]

    def read_block(self, block: int) -> bytes:
        """All layers of a block, one after the other."""
        return b"".join(pages.data[block].tobytes() for pages in self.pages)

    def write_block(self, block: int, content: bytes) -> None:
        """Put back what `read_block` gave."""
        _restore([pages.data[block] for pages in self.pages], content)

    def read_state(self, state: int) -> bytes:
        """All layers of a state, one after the other."""
        return b"".join(layer[state].tobytes() for layer in self.states)

    def write_state(self, state: int, content: bytes) -> None:
        """Put back what `read_state` gave."""
        _restore([layer[state] for layer in self.states], content)


def _restore(targets: list[NDArray[np.float32]], content: bytes) -> None:
    if len(content) != sum(target.nbytes for target in targets):
        raise ValueError(f"saved content has {len(content)} bytes, {sum(t.nbytes for t in targets)} are needed")
    start = 0
    for target in targets:
        values = np.frombuffer(content, target.dtype, target.size, start)
        target[...] = values.reshape(target.shape)
        start += target.nbytes
