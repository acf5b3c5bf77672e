"""Matrix products with packed weights, and the quantising of activations that go into them.

Work is cut into pieces of some row groups that threads claim; a piece goes through the tokens in runs that fit the
cache, tile by tile: 8 tokens at a time, then 4, 2, 1.
"""

from collections.abc import Callable
from typing import Any

from numba import njit

from llama.kernels.atomics import claim_of
from llama.kernels.context import rows_of
from llama.kernels.layout import BLOCK, GROUP, Layout
from llama.kernels.tiles import SIDE, code_tile, float_tile, quantise_block
from llama.kernels.vectors import int_at

TILES = (8, 4, 2, 1)
MANY = 32  # tokens from which products, not reading weights, are what takes the time
RUN = 128  # tokens that stay in the second-level cache while a piece's rows go over them


def quantised_width(columns: int) -> int:
    """Bytes of a quantised row of activations."""
    padded = -(-columns // BLOCK) * BLOCK
    return padded + padded // BLOCK * SIDE


def build_tile_run(kernel_set: str, layout: Layout, groups: int = 1, *, beyond: bool = False) -> Callable[..., Any]:
    """Compiled-code function: 16 rows times any number of tokens; of floats also two times 16 rows, `s` bytes apart.

    beyond: the last tile may work on rows behind the last, which must be nobody's, up to a multiple of 8. That beats
    two smaller tiles; of floats, a tile of 8 takes hardly longer than one of 4.
    """
    full, half = 8, 4
    if beyond:
        full, half = 5 if layout.is_float else 7, 3
    made = [float_tile(layout, n, groups) if layout.is_float else code_tile(kernel_set, layout, n) for n in TILES]
    eight, four, two, one = made

    @njit
    def tiles(
        w: int,
        s: int,
        x: int,
        stride: int,
        steps: int,
        n: int,
        out: int,
        ostride: int,
        bias: int,
        res: int,
        rstride: int,
    ) -> None:
        """steps: blocks of codes, or columns of floats."""
        t = 0
        while t < n:
            xt, ot, rt = x + t * stride, out + t * ostride, res + t * rstride if res else 0
            if n - t >= full:
                eight(w, s, xt, stride, steps, ot, ostride, bias, rt, rstride)
                t += 8
            elif n - t >= half:
                four(w, s, xt, stride, steps, ot, ostride, bias, rt, rstride)
                t += 4
            elif n - t >= 2:
                two(w, s, xt, stride, steps, ot, ostride, bias, rt, rstride)
                t += 2
            else:
                one(w, s, xt, stride, steps, ot, ostride, bias, rt, rstride)
                t += 1

    return tiles


def build_linear(kernel_set: str, layout: Layout) -> Callable[..., None]:
    """x @ w.T + bias + residual.

    Arguments: rows kind, x, x stride, codes, scales, groups, steps, out, out stride, bias, residual, its stride,
    groups a piece, code bytes a group, scale bytes a group.
    """
    tiles = build_tile_run(kernel_set, layout, beyond=True)
    in_pairs = layout.is_float
    pair_tiles = build_tile_run(kernel_set, layout, 2, beyond=True) if in_pairs else tiles

    def linear(args: int, context: int, thread: int, threads: int) -> None:
        n = rows_of(context, int_at(args + 24))
        x, stride, codes, scales = int_at(args + 32), int_at(args + 40), int_at(args + 48), int_at(args + 56)
        groups, steps, out, ostride = int_at(args + 64), int_at(args + 72), int_at(args + 80), int_at(args + 88)
        bias, residual, rstride, piece = int_at(args + 96), int_at(args + 104), int_at(args + 112), int_at(args + 120)
        code_bytes, scale_bytes = int_at(args + 128), int_at(args + 136)
        pieces = -(-groups // piece)
        for turn in range(threads):
            share = (thread + turn) % threads
            begin, end = pieces * share // threads, pieces * (share + 1) // threads
            while True:
                first = (begin + claim_of(args, share)) * piece
                if first >= end * piece:
                    break
                last = min(groups, first + piece)
                for start in range(0, n, RUN):
                    count = min(RUN, n - start)
                    source, target = x + start * stride, out + start * ostride
                    old = residual + start * rstride if residual else 0
                    g = first
                    while g < last:
                        w, place = codes + g * code_bytes, g * 4 * GROUP
                        offset, add = bias + place if bias else 0, old + place if old else 0
                        if in_pairs and count >= MANY and last - g > 1:
                            pair_tiles(
                                w,
                                code_bytes,
                                source,
                                stride,
                                steps,
                                count,
                                target + place,
                                ostride,
                                offset,
                                add,
                                rstride,
                            )
                            g += 2
                        else:
                            s = scales + g * scale_bytes
                            tiles(w, s, source, stride, steps, count, target + place, ostride, offset, add, rstride)
                            g += 1

    return linear


def build_quantise(halves: bool) -> Callable[..., None]:
    """Rows of floats -> quantised rows, each in some segments with their side floats behind them.

    Arguments: rows kind, x, x stride, blocks a segment, out, out stride, segments.
    """

    block: Any = quantise_block(halves)

    def quantise(args: int, context: int, thread: int, threads: int) -> None:
        n = rows_of(context, int_at(args + 24))
        x, stride, blocks = int_at(args + 32), int_at(args + 40), int_at(args + 48)
        out, ostride = int_at(args + 56), int_at(args + 64)
        for t in range(n * thread // threads, n * (thread + 1) // threads):
            for s in range(int_at(args + 72)):
                source = x + t * stride + s * blocks * 4 * BLOCK
                codes = out + t * ostride + s * blocks * (BLOCK + SIDE)
                for b in range(blocks):
                    block(source + 4 * BLOCK * b, codes + BLOCK * b, codes + BLOCK * blocks + SIDE * b)

    return quantise
