"""Attention over the paged cache.

A piece of work is some tokens of one sequence with all query heads of one key and value head: rows = tokens x heads. It
goes through the context in spans of fixed length: scores, softmax, weighted values for each span, and the spans are
merged in order. When there are few pieces and long contexts, threads share out the spans of a piece; whoever finishes
its last span merges them, in the same order and by the same operations.
"""

from collections.abc import Callable
from typing import Any

from numba import njit

from llama.kernels.atomics import add_atomic, claim, write_atomic
from llama.kernels.attention_blocks import SPAN
from llama.kernels.attention_span import (
    HEAD_K,
    HEAD_V,
    HEADS,
    KV_HEADS,
    OSTRIDE,
    OUT,
    QSTRIDE,
    SCALE,
    Q,
    build_keys_at,
    build_span,
    merge,
    reset,
    sequence_end,
    span_of,
    write_row,
)
from llama.kernels.attention_tiles import CacheType
from llama.kernels.context import ITEMS, N_ITEMS, PARTIALS, ROW_POSITIONS, SPANS, get, scratch_of
from llama.kernels.vectors import all16, bits_to_float, float_at, int32_at, int_at, load16, put_float, store16

ITEM = 3  # int64 of a piece: sequence, first row, tokens
SHARED_PIECES = 64  # spans are shared out only when there are fewer pieces than this


def tokens_of_piece(group: int) -> int:
    """How many tokens make a piece when `group` query heads share a key head."""
    return 8 if group <= 4 else max(1, 32 // group)


@njit
def state_floats(head_v: int) -> int:
    """Floats of one row's running state: the maximum, the sum, then the weighted values; padded."""
    return -(-head_v // 32) * 32 + 16


def scratch_bytes(rows: int, head_k: int, head_v: int) -> int:
    """Scratch memory that a piece of `rows` rows needs."""
    return rows * 4 * (head_k + SPAN + 2 * (-(-head_v // 32) * 32 + 16))


@njit
def limits(args: int, context: int, sequence: int, row: int, tokens: int) -> tuple[int, int]:
    """The positions that any token of a piece looks at."""
    end = sequence_end(context, sequence)
    low, high = end, 0
    for t in range(row, row + tokens):
        first, last = span_of(args, int32_at(get(context, ROW_POSITIONS) + 4 * t), end)
        low, high = min(low, first), max(high, last)
    return max(low, 0), min(high, end)


@njit
def part_of(args: int, context: int, i: int, pieces: int) -> tuple[int, int, int, int]:
    """Item i of the work: key head, sequence, first row, tokens; the longest contexts come first."""
    piece = pieces - 1 - i % pieces
    item = get(context, ITEMS) + piece // int_at(args + KV_HEADS) * 8 * ITEM
    return piece % int_at(args + KV_HEADS), int_at(item), int_at(item + 8), int_at(item + 16)


@njit
def scaled_queries(args: int, row: int, tokens: int, kv: int, q: int) -> None:
    """Copy a piece's queries, row by row, times the scale."""
    columns, scale = int_at(args + HEAD_K), bits_to_float(int_at(args + SCALE))
    group = int_at(args + HEADS) // int_at(args + KV_HEADS)
    for t in range(tokens):
        source = int_at(args + Q) + (row + t) * int_at(args + QSTRIDE) + 4 * kv * group * columns
        target = q + 4 * t * group * columns
        whole, scales = group * columns // 16 * 16, all16(scale)
        for i in range(0, 4 * whole, 64):
            store16(target + i, load16(source + i) * scales)
        for i in range(whole, group * columns):
            put_float(target + 4 * i, float_at(source + 4 * i) * scale)


@njit
def write_piece(args: int, row: int, tokens: int, kv: int, states: int, state_bytes: int) -> None:
    """Put the results of a piece's rows where they belong."""
    group = int_at(args + HEADS) // int_at(args + KV_HEADS)
    for r in range(tokens * group):
        head = kv * group + r % group
        out = int_at(args + OUT) + (row + r // group) * int_at(args + OSTRIDE) + 4 * head * int_at(args + HEAD_V)
        write_row(args, states + r * state_bytes, head, out)


def build_first_keys(type_k: CacheType) -> Callable[..., Any]:
    """Compiled-code function: address of what item i of the work reads first, of the last item if there is no such."""
    keys_at = build_keys_at(type_k)

    @njit
    def first_keys(args: int, context: int, i: int, pieces: int, spans: int) -> int:
        i = min(i, pieces * spans - 1)
        kv, sequence, row, tokens = part_of(args, context, i, pieces)
        low, high = limits(args, context, sequence, row, tokens)
        start = low if spans == 1 else max(low, i // pieces * SPAN)
        return keys_at(args, context, sequence, kv, min(start, high - 1))

    return first_keys


def build_attention(type_k: CacheType, type_v: CacheType, rows: int) -> Callable[..., None]:
    """Attention whose pieces have at most `rows` rows; arguments as attention_span.py lists them."""
    span, keys_at, first_keys = build_span(type_k, type_v), build_keys_at(type_k), build_first_keys(type_k)

    def attention(args: int, context: int, thread: int, threads: int) -> None:
        pieces = get(context, N_ITEMS) * int_at(args + KV_HEADS)
        spans = get(context, SPANS) if pieces < SHARED_PIECES else 1
        group = int_at(args + HEADS) // int_at(args + KV_HEADS)
        columns, state_bytes = -(-int_at(args + HEAD_V) // 32) * 32, 4 * state_floats(int_at(args + HEAD_V))
        q = scratch_of(context, thread)
        scores = q + 4 * rows * int_at(args + HEAD_K)
        one = scores + 4 * rows * SPAN
        running = one + rows * state_bytes
        while True:
            i = claim(args)
            if i >= pieces * spans:
                break
            kv, sequence, row, tokens = part_of(args, context, i, pieces)
            after = first_keys(args, context, i + threads, pieces, spans)
            low, high = limits(args, context, sequence, row, tokens)
            scaled_queries(args, row, tokens, kv, q)
            if spans > 1:
                piece = i % pieces
                done = get(context, PARTIALS) + 8 * piece
                parts = get(context, PARTIALS) + 8 * SHARED_PIECES + piece * spans * rows * state_bytes
                s = i // pieces
                mine = parts + s * rows * state_bytes
                start, end = max(low, s * SPAN), min(high, (s + 1) * SPAN)
                if start < end:
                    span(args, context, sequence, row, tokens, kv, start, end, q, scores, mine, state_bytes, after)
                else:
                    for r in range(tokens * group):
                        reset(mine + r * state_bytes, columns)
                if add_atomic(done, 1) < spans - 1:
                    continue
                write_atomic(done, 0)
                for r in range(tokens * group):
                    reset(running + r * state_bytes, columns)
                    for s in range(spans):
                        merge(running + r * state_bytes, parts + (s * rows + r) * state_bytes, columns)
            else:
                for r in range(tokens * group):
                    reset(running + r * state_bytes, columns)
                for s in range(low // SPAN, (high + SPAN - 1) // SPAN):
                    start, end = max(low, s * SPAN), min(high, (s + 1) * SPAN)
                    following = keys_at(args, context, sequence, kv, end) if end < high else after
                    span(args, context, sequence, row, tokens, kv, start, end, q, scores, one, state_bytes, following)
                    for r in range(tokens * group):
                        merge(running + r * state_bytes, one + r * state_bytes, columns)
            write_piece(args, row, tokens, kv, running, state_bytes)

    return attention
