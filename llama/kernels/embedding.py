"""Looks up rows of a packed matrix: the embedding of tokens or positions, without unpacking the matrix."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from llama.kernels.context import N_ROWS, ROW_POSITIONS, TOKENS, get
from llama.kernels.layout import BLOCK, GROUP, Layout
from llama.kernels.vectors import bits_to_float, byte_at, float_at, half_at, int32_at, int_at, put_float, short_at


def build_code(layout: Layout) -> Any:
    """Compiled-code function: the code of a row (of 16) and column (of 32) in the block at an address."""
    bits = layout.bits

    @njit
    def code(block: int, row: int, column: int) -> int:
        vector, byte = column // 4, 4 * row + column % 4
        value, at, plane = 0, 0, block
        for width in (8, 4, 2, 1):
            if bits & width:
                per = 8 // width
                whole = byte_at(plane + vector // per * 64 + byte)
                value |= ((whole >> (vector % per * width)) & ((1 << width) - 1)) << at
                at += width
                plane += 64 * width
        return value

    return code


def build_row(layout: Layout, signed: bool) -> Any:
    """Compiled-code function: writes a row as floats. (codes, scales, row, columns, out)."""
    bits, sub, minimum, brain = layout.bits, layout.sub, layout.minimum, layout.brain
    code_bytes, scale_bytes = layout.code_bytes, layout.scale_bytes
    flip = 128 if bits == 8 and signed else 0
    zero = layout.zero
    code: Any = build_code(layout)

    @njit
    def from_codes(codes: int, scales: int, row: int, columns: int, out: int) -> None:
        blocks = -(-columns // BLOCK)
        group, lane = row // GROUP, row % GROUP
        for b in range(blocks):
            block = codes + (group * blocks + b) * code_bytes
            steps = scales + (group * blocks + b) * scale_bytes + 2 * lane
            for c in range(min(BLOCK, columns - b * BLOCK)):
                d = half_at(steps + 2 * GROUP * (c // sub))
                m = -d * np.float32(zero)
                if minimum:
                    m = half_at(steps + scale_bytes // 2 + 2 * GROUP * (c // sub))
                put_float(out + 4 * (b * BLOCK + c), d * np.float32(code(block, lane, c) ^ flip) + m)

    @njit
    def from_floats(codes: int, scales: int, row: int, columns: int, out: int) -> None:
        base = codes + (row // GROUP * columns * GROUP + row % GROUP) * (bits // 8)
        for c in range(columns):
            place = base + c * GROUP * (bits // 8)
            if bits == 32:
                put_float(out + 4 * c, float_at(place))
            elif brain:
                put_float(out + 4 * c, bits_to_float(short_at(place) << 16))
            else:
                put_float(out + 4 * c, half_at(place))

    return from_floats if layout.is_float else from_codes


def build_embed(layout: Layout, index: str, signed: bool) -> Callable[..., None]:
    """index: token, position or zero.

    Arguments: rows kind, codes, scales, rows of the table, columns, out, its stride.
    """
    write: Any = build_row(layout, signed)
    by_token, by_position = index == "token", index == "position"

    def embed(args: int, context: int, thread: int, threads: int) -> None:
        codes, scales, rows, columns = int_at(args + 32), int_at(args + 40), int_at(args + 48), int_at(args + 56)
        n = get(context, N_ROWS)
        for t in range(n * thread // threads, n * (thread + 1) // threads):
            row = 0
            if by_token:
                row = int32_at(get(context, TOKENS) + 4 * t)
            if by_position:
                row = int32_at(get(context, ROW_POSITIONS) + 4 * t)
            row = min(max(row, 0), rows - 1)
            write(codes, scales, row, columns, int_at(args + 64) + t * int_at(args + 72))

    return embed
