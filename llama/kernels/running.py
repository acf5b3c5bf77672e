"""What changes from run to run: the context that kernels read, and batches cut into parts."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llama.kernels import context as places
from llama.kernels.attention import ITEM, SHARED_PIECES
from llama.kernels.attention_blocks import SPAN
from llama.kernels.batch import Batch
from llama.kernels.memory import Memory


class Context:
    """The row of int64 that kernels get. Holds on to the arrays that it points into."""

    def __init__(self, piece_tokens: int, partial_row_bytes: int) -> None:
        self._memory = Memory(8 * places.SIZE)
        self.values: NDArray[np.int64] = self._memory.bytes.view(np.int64)
        self.address = self._memory.address
        self._piece_tokens, self._partial_row_bytes = piece_tokens, partial_row_bytes
        self._partials = Memory(0)
        self._arrays: list[NDArray[Any]] = []

    def fill(self, batch: Batch) -> int:
        """Describe a batch; returns the length of its longest sequence with this batch's tokens."""
        starts = np.ascontiguousarray(batch.starts, np.int32)
        counts = np.diff(starts)
        positions = np.ascontiguousarray(batch.positions, np.int32)
        sequences = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
        rows = np.arange(len(batch.tokens), dtype=np.int32)
        row_positions = np.ascontiguousarray(rows + np.repeat(positions - starts[:-1], counts), np.int32)
        blocks = np.ascontiguousarray(batch.blocks, np.int32)
        items = self._items(starts.tolist())
        longest = int((positions + counts).max(initial=0))
        arrays: dict[int, NDArray[Any]] = {
            places.TOKENS: np.ascontiguousarray(batch.tokens, np.int32),
            places.STARTS: starts,
            places.POSITIONS: positions,
            places.BLOCKS: blocks,
            places.STATES: np.ascontiguousarray(batch.states, np.int32),
            places.OUTPUTS: np.ascontiguousarray(batch.outputs, np.int32),
            places.ROW_POSITIONS: row_positions,
            places.ROW_SEQUENCES: sequences,
            places.ITEMS: items,
        }
        scales = None if batch.scales is None else np.ascontiguousarray(batch.scales, np.float32)
        self.values[places.SCALES] = self.values[places.SCALES_STRIDE] = 0
        if scales is not None and scales.size:
            arrays[places.SCALES] = scales
            self.values[places.SCALES_STRIDE] = scales.strides[0]
        for place, array in arrays.items():
            self.values[place] = array.ctypes.data
        self._arrays = list(arrays.values())
        self.values[places.N_ROWS], self.values[places.N_WANTED] = len(batch.tokens), len(batch.outputs)
        self.values[places.N_SEQUENCES], self.values[places.N_ITEMS] = len(counts), len(items)
        self.values[places.BLOCKS_STRIDE] = blocks.strides[0] if blocks.size else 0
        self._share_spans(len(items), longest)
        return longest

    def _items(self, starts: list[int]) -> NDArray[np.int64]:
        """Attention's pieces: at most `piece_tokens` tokens of one sequence."""
        step = self._piece_tokens
        items = [
            (sequence, row, min(step, end - row))
            for sequence, (start, end) in enumerate(pairwise(starts))
            for row in range(start, end, step)
        ]
        return np.array(items, np.int64).reshape(-1, ITEM)

    def _share_spans(self, n_items: int, longest: int) -> None:
        """With few pieces and long contexts, make room for the results of spans."""
        spans = -(-longest // SPAN) if n_items < SHARED_PIECES else 1
        self.values[places.SPANS] = spans
        needed = 8 * SHARED_PIECES + SHARED_PIECES * spans * self._partial_row_bytes
        if spans > 1 and needed > self._partials.size:
            self._partials = Memory(2 * needed)
        self.values[places.PARTIALS] = self._partials.address


def parts_of(batch: Batch, most_rows: int, most_wanted: int) -> Iterator[Batch]:
    """Cut a batch into parts of at most so many tokens and results, in order. A batch that fits stays as it is."""
    n = len(batch.tokens)
    if n <= most_rows and len(batch.outputs) <= most_wanted:
        yield batch
        return
    start = 0
    while start < n:
        later = batch.outputs[batch.outputs >= start]
        end = min(n, start + most_rows, int(later[most_wanted]) if len(later) > most_wanted else n)
        yield _rows(batch, start, end)
        start = end


def _rows(batch: Batch, start: int, end: int) -> Batch:
    """Rows start .. end of a batch as a batch of its own."""
    first, last = np.maximum(batch.starts[:-1], start), np.minimum(batch.starts[1:], end)
    kept = np.flatnonzero(first < last)
    wanted = batch.outputs[(batch.outputs >= start) & (batch.outputs < end)]
    return replace(
        batch,
        tokens=batch.tokens[start:end],
        starts=np.append(first[kept], last[kept][-1:]).astype(np.int32) - np.int32(start),
        positions=(batch.positions[kept] + first[kept] - batch.starts[kept]).astype(np.int32),
        blocks=batch.blocks[kept],
        states=batch.states[kept],
        outputs=(wanted - start).astype(np.int32),
        scales=None if batch.scales is None else batch.scales[kept],
    )
