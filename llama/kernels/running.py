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
        self._single = np.empty((0, ITEM), np.int64)
        self._counted = np.empty(0, np.int32)

    def fill(self, batch: Batch) -> int:
        """Describe a batch; returns the length of its longest sequence with this batch's tokens."""
        sequences, row_positions, items = self._rows_and_items(batch)
        parts = {
            places.TOKENS: batch.tokens,
            places.STARTS: batch.starts,
            places.POSITIONS: batch.positions,
            places.BLOCKS: batch.blocks.reshape(-1),
            places.STATES: batch.states,
            places.OUTPUTS: batch.outputs,
            places.ROW_POSITIONS: row_positions,
            places.ROW_SEQUENCES: sequences,
        }
        # in one array: asking numpy for an address takes longer than copying
        together = np.concatenate(tuple(parts.values()), dtype=np.int32, casting="same_kind")
        address = together.ctypes.data
        for place, part in parts.items():
            self.values[place] = address
            address += 4 * len(part)
        self.values[places.ITEMS] = items.ctypes.data
        self._arrays = [together, items]
        self.values[places.N_ROWS], self.values[places.N_WANTED] = len(batch.tokens), len(batch.outputs)
        self.values[places.N_SEQUENCES], self.values[places.N_ITEMS] = len(batch.positions), len(items)
        self.values[places.BLOCKS_STRIDE] = 4 * batch.blocks.shape[1]
        self._fill_scales(batch)
        longest = int(row_positions.max(initial=-1)) + 1
        self._share_spans(len(items), longest)
        return longest

    def _rows_and_items(self, batch: Batch) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
        """Each row's sequence and position, and attention's pieces: at most `piece_tokens` tokens of one sequence."""
        n, n_sequences = len(batch.tokens), len(batch.positions)
        if n >= len(self._counted):
            rows = np.arange(2 * n, dtype=np.int64)
            self._counted, self._single = rows.astype(np.int32), np.stack((rows, rows, np.ones_like(rows)), axis=1)
        if n == n_sequences and np.array_equal(batch.starts, self._counted[: n + 1]):  # one token each: the usual step
            return self._counted[:n], batch.positions, self._single[:n]
        counts = np.diff(batch.starts)
        sequences = np.repeat(np.arange(n_sequences, dtype=np.int32), counts)
        row_positions = np.arange(n) + np.repeat(batch.positions - batch.starts[:-1], counts)
        step = self._piece_tokens
        items = [
            (sequence, row, min(step, end - row))
            for sequence, (start, end) in enumerate(pairwise(batch.starts.tolist()))
            for row in range(start, end, step)
        ]
        return sequences, row_positions.astype(np.int32), np.array(items, np.int64).reshape(-1, ITEM)

    def _fill_scales(self, batch: Batch) -> None:
        """How strong each adapter is for each sequence."""
        self.values[places.SCALES] = self.values[places.SCALES_STRIDE] = 0
        if batch.scales is not None and batch.scales.size:
            scales = np.ascontiguousarray(batch.scales, np.float32)
            self._arrays.append(scales)
            self.values[places.SCALES], self.values[places.SCALES_STRIDE] = scales.ctypes.data, scales.strides[0]

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
