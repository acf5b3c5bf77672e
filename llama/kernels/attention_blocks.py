"""The rows of a piece against one block of the cache: tiles of as many rows as fit, for keys and for values."""

from collections.abc import Callable
from typing import Any

from numba import njit

from llama.kernels.attention_tiles import CacheType, score_tile, value_tile

SPAN = 256  # positions whose scores are softmaxed together; a row of scores has room for so many


def build_scores(kind: CacheType) -> Callable[..., Any]:
    """Compiled-code function: scores of all rows with a block's 32 positions.

    A tile of three may work on a third row that is nobody's: cheaper than two smaller tiles.
    """
    eight, four, three, one = (score_tile(kind, n) for n in (8, 4, 3, 1))

    @njit
    def score_block(q: int, qstride: int, rows: int, keys: int, steps: int, columns: int, out: int, ahead: int) -> None:
        r = 0
        while r < rows:
            source, target = q + r * qstride, out + r * 4 * SPAN
            if rows - r >= 8:
                eight(source, qstride, keys, steps, columns, target, 4 * SPAN, ahead)
                r += 8
            elif rows - r >= 4:
                four(source, qstride, keys, steps, columns, target, 4 * SPAN, ahead)
                r += 4
            elif rows - r >= 2:
                three(source, qstride, keys, steps, columns, target, 4 * SPAN, ahead)
                r += 3
            else:
                one(source, qstride, keys, steps, columns, target, 4 * SPAN, ahead)
                r += 1

    return score_block


def build_values(kind: CacheType) -> Callable[..., Any]:
    """Compiled-code function: adds a block's 32 values, weighted, to all rows: 64 columns at a time, then 16."""
    eight, four, three, one = (value_tile(kind, n, v) for n, v in ((8, 2), (4, 4), (3, 4), (1, 4)))
    narrow: Any = value_tile(kind, 4, 1)
    size = kind.size

    @njit
    def four_columns(
        weights: int,
        rows: int,
        values: int,
        steps: int,
        bytes_row: int,
        steps_row: int,
        out: int,
        stride: int,
        ahead: int,
    ) -> None:
        r, w = 0, 4 * SPAN
        while r < rows:
            source, target = weights + r * w, out + r * stride
            if rows - r >= 8:
                eight(source, w, values, steps, bytes_row, steps_row, target, stride, ahead)
                half = 32 * size
                eight(source, w, values + half, steps + 2, bytes_row, steps_row, target + 128, stride, ahead + half)
                r += 8
            elif rows - r >= 4:
                four(source, w, values, steps, bytes_row, steps_row, target, stride, ahead)
                r += 4
            elif rows - r >= 2:
                three(source, w, values, steps, bytes_row, steps_row, target, stride, ahead)
                r += 3
            else:
                one(source, w, values, steps, bytes_row, steps_row, target, stride, ahead)
                r += 1

    @njit
    def value_block(
        weights: int, rows: int, values: int, steps: int, padded: int, out: int, stride: int, ahead: int
    ) -> None:
        bytes_row, steps_row, w = padded * size, padded // 32 * 2, 4 * SPAN
        for c in range(0, padded - padded % 64, 64):
            place, step, target = c * size, steps + c // 32 * 2, out + 4 * c
            four_columns(weights, rows, values + place, step, bytes_row, steps_row, target, stride, ahead + place)
        for c in range(padded - padded % 64, padded, 16):
            place, step, target = c * size, steps + c // 32 * 2, out + 4 * c
            for r in range(0, rows, 4):
                source = weights + r * w
                narrow(
                    source, w, values + place, step, bytes_row, steps_row, target + r * stride, stride, ahead + place
                )

    return value_block
