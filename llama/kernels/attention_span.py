"""One span of attention, that is SPAN positions for the rows of a piece: scores, softmax, weighted values, and merging.

A row's state is its maximum, its sum, then (64 bytes on) its weighted values, all float32.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from llama.kernels.attention_blocks import SPAN, build_scores, build_values
from llama.kernels.attention_tiles import POSITIONS, CacheType
from llama.kernels.cache_store import block_address
from llama.kernels.context import POSITIONS as FIRST_POSITIONS
from llama.kernels.context import ROW_POSITIONS, STARTS, get
from llama.kernels.vectors import (
    all16,
    bits_to_float,
    exp1,
    exp16,
    float_at,
    fma16,
    int32_at,
    int_at,
    load16,
    max16,
    put_float,
    store16,
    sum16,
    tanh16,
    top16,
)

LOWEST = np.float32(-np.inf)
# Arguments of the attention row, after the three that every row has
Q, QSTRIDE, OUT, OSTRIDE, CACHE, BLOCK_BYTES, VALUES, HEADS, KV_HEADS, HEAD_K, HEAD_V = range(24, 112, 8)
SCALE, SOFTCAP, WINDOW, SYMMETRIC, CHUNK, CAUSAL, SLOPES, SINKS = range(112, 176, 8)


@njit
def span_of(args: int, position: int, end: int) -> tuple[int, int]:
    """Positions first .. last that `position` looks at, in a sequence that now has `end` of them."""
    window, chunk = int_at(args + WINDOW), int_at(args + CHUNK)
    first, last = 0, position + 1 if int_at(args + CAUSAL) else end
    if window > 0 and int_at(args + SYMMETRIC):
        first, last = max(first, position - window // 2), min(last, position + window // 2 + 1)
    elif window > 0:
        first = max(first, position - window + 1)
    if chunk > 0:
        first, last = max(first, position // chunk * chunk), min(last, (position // chunk + 1) * chunk)
    return first, last


@njit
def adjust(args: int, scores: int, n: int, head: int, distance: int) -> None:
    """Softcap and ALiBi. `distance`: how far the first score's position lies behind the query."""
    cap = bits_to_float(int_at(args + SOFTCAP))
    if cap > 0:
        inverse, caps = all16(np.float32(1.0) / cap), all16(cap)
        for j in range(0, 4 * n, 64):
            store16(scores + j, caps * tanh16(load16(scores + j) * inverse))
    if int_at(args + SLOPES) != 0:
        slope = float_at(int_at(args + SLOPES) + 4 * head)
        for j in range(n):
            put_float(scores + 4 * j, float_at(scores + 4 * j) - slope * np.float32(abs(distance - j)))


@njit
def softmax_span(scores: int, n: int, first: int, last: int, state: int) -> None:
    """Scores first .. last of n become weights, the others 0; maximum and sum go to `state`. n: a multiple of 32."""
    for j in range(min(first, n)):
        put_float(scores + 4 * j, LOWEST)
    for j in range(max(last, 0), n):
        put_float(scores + 4 * j, LOWEST)
    most, more = all16(LOWEST), all16(LOWEST)
    for j in range(0, 4 * n, 128):
        most, more = max16(most, load16(scores + j)), max16(more, load16(scores + j + 64))
    top = top16(max16(most, more))
    put_float(state, top)
    if top == LOWEST:
        top = np.float32(0.0)
    tops, total = all16(top), all16(np.float32(0.0))
    for j in range(0, 4 * n, 64):
        weights = exp16(load16(scores + j) - tops)
        store16(scores + j, weights)
        total = total + weights
    put_float(state + 4, sum16(total))


@njit
def merge(state: int, more: int, columns: int) -> None:
    """Add one span's state to a running one."""
    old, new = float_at(state), float_at(more)
    if new == LOWEST:
        return
    top = max(old, new)
    keep, take = exp1(old - top), exp1(new - top)
    put_float(state, top)
    put_float(state + 4, float_at(state + 4) * keep + float_at(more + 4) * take)
    keeps, takes = all16(keep), all16(take)
    for j in range(64, 64 + 4 * columns, 64):
        store16(state + j, fma16(load16(more + j), takes, load16(state + j) * keeps))


@njit
def reset(state: int, columns: int) -> None:
    """The state before the first span."""
    put_float(state, LOWEST)
    put_float(state + 4, np.float32(0.0))
    for j in range(64, 64 + 4 * columns, 64):
        store16(state + j, all16(np.float32(0.0)))


@njit
def write_row(args: int, state: int, head: int, out: int) -> None:
    """The attention result of a row from its final state."""
    total = float_at(state + 4)
    factor = np.float32(1.0)
    if int_at(args + SINKS) != 0:
        sink, old = float_at(int_at(args + SINKS) + 4 * head), float_at(state)
        top = max(sink, old)
        factor = exp1(old - top)
        total = total * factor + exp1(sink - top)
    factor = factor / total if total > 0 else np.float32(0.0)
    columns, factors = int_at(args + HEAD_V), all16(factor)
    for c in range(0, columns - columns % 16, 16):
        store16(out + 4 * c, load16(state + 64 + 4 * c) * factors)
    for c in range(columns - columns % 16, columns):
        put_float(out + 4 * c, float_at(state + 64 + 4 * c) * factor)


@njit
def sequence_end(context: int, sequence: int) -> int:
    """How many positions a sequence has with this step's tokens."""
    starts = get(context, STARTS) + 4 * sequence
    return int32_at(get(context, FIRST_POSITIONS) + 4 * sequence) + int32_at(starts + 4) - int32_at(starts)


def build_keys_at(type_k: CacheType) -> Callable[..., Any]:
    """Compiled-code function: address of the keys of a position's block, for one key head."""
    key_unit = type_k.padded(1)
    key_head = type_k.head_bytes(key_unit)

    @njit
    def keys_at(args: int, context: int, sequence: int, kv: int, position: int) -> int:
        to_head = kv * (-(-int_at(args + HEAD_K) // key_unit) * key_head)
        return block_address(context, sequence, position, int_at(args + CACHE), int_at(args + BLOCK_BYTES)) + to_head

    return keys_at


def build_span(type_k: CacheType, type_v: CacheType) -> Callable[..., Any]:
    """Compiled-code function: one span of one piece, scores to states. Room for rows is a multiple of 4."""
    score_block, value_block = build_scores(type_k), build_values(type_v)
    key_unit, value_unit = type_k.padded(1), type_v.padded(1)
    key_head, value_head = type_k.head_bytes(key_unit), type_v.head_bytes(value_unit)

    @njit
    def span(
        args: int,
        context: int,
        sequence: int,
        row: int,
        tokens: int,
        kv: int,
        start: int,
        end: int,
        q: int,
        scores: int,
        states: int,
        state_bytes: int,
        after: int,
    ) -> None:
        """Positions start .. end, which lie in one span, of a piece: states of the rows are made anew.

        after: address of what is probably read next, asked for meanwhile.
        """
        head_k, head_v = int_at(args + HEAD_K), int_at(args + HEAD_V)
        kpad, vpad = -(-head_k // key_unit) * key_unit, -(-head_v // value_unit) * value_unit
        group = int_at(args + HEADS) // int_at(args + KV_HEADS)
        rows, first_block, last_block = tokens * group, start // POSITIONS, (end - 1) // POSITIONS
        base, block_bytes = int_at(args + CACHE), int_at(args + BLOCK_BYTES)
        kbytes = kpad // key_unit * key_head
        to_values = int_at(args + VALUES) + kv * (vpad // value_unit * value_head)
        first_values = block_address(context, sequence, first_block * POSITIONS, base, block_bytes) + to_values
        for block in range(first_block, last_block + 1):
            keys = block_address(context, sequence, block * POSITIONS, base, block_bytes) + kv * kbytes
            target = scores + 4 * POSITIONS * (block - first_block)
            ahead = first_values
            if block < last_block:
                ahead = block_address(context, sequence, (block + 1) * POSITIONS, base, block_bytes) + kv * kbytes
            score_block(q, 4 * head_k, rows, keys, keys + kpad * POSITIONS, head_k, target, ahead)
        begin, n = first_block * POSITIONS, (last_block + 1 - first_block) * POSITIONS
        length = sequence_end(context, sequence)
        for r in range(rows):
            position = int32_at(get(context, ROW_POSITIONS) + 4 * (row + r // group))
            first, last = span_of(args, position, length)
            state = states + r * state_bytes
            reset(state, vpad)
            adjust(args, scores + r * 4 * SPAN, n, kv * group + r % group, position - begin)
            softmax_span(scores + r * 4 * SPAN, n, max(first, start) - begin, min(last, end) - begin, state)
        for block in range(first_block, last_block + 1):
            values = block_address(context, sequence, block * POSITIONS, base, block_bytes) + to_values
            ahead = after
            if block < last_block:
                ahead = block_address(context, sequence, (block + 1) * POSITIONS, base, block_bytes) + to_values
            weights = scores + 4 * POSITIONS * (block - first_block)
            value_block(weights, rows, values, values + vpad * POSITIONS, vpad, states + 64, state_bytes, ahead)

    return span
