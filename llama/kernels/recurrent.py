"""Operations that run along the tokens of a sequence and keep a state. Columns or heads are shared out, tokens are not.

A state slot's address is `states` + slot * bytes.
"""

from collections.abc import Callable

import numpy as np
from numba import njit

from llama.kernels.atomics import claim
from llama.kernels.context import N_SEQUENCES, STARTS, STATES, get
from llama.kernels.vectors import (
    all16,
    exp1,
    exp16,
    first_lanes,
    float_at,
    fma16,
    int32_at,
    int_at,
    load16,
    put_float,
    store_first,
    sum16,
)

COLUMNS = 64  # that one piece of a convolution takes
ZERO = np.float32(0.0)


@njit
def rows_of_sequence(context: int, sequence: int) -> tuple[int, int]:
    """First row and number of rows."""
    starts = get(context, STARTS) + 4 * sequence
    return int32_at(starts), int32_at(starts + 4) - int32_at(starts)


@njit
def state_of(context: int, sequence: int, states: int, size: int) -> int:
    """Address of a sequence's state."""
    return states + int32_at(get(context, STATES) + 4 * sequence) * size


@njit
def input_row(state: int, width: int, past: int, x: int, stride: int, row: int) -> int:
    """Address of input `row`, counted from the first that the state remembers."""
    return state + 4 * row * width if row < past else x + (row - past) * stride


def build_short_conv() -> Callable[..., None]:
    """Arguments: x, stride, out, its stride, width, taps, weights (tap by tap), bias, states, bytes a state."""

    def short_conv(args: int, context: int, thread: int, threads: int) -> None:
        x, stride, out, ostride = int_at(args + 24), int_at(args + 32), int_at(args + 40), int_at(args + 48)
        width, taps, weights, bias = int_at(args + 56), int_at(args + 64), int_at(args + 72), int_at(args + 80)
        past = taps - 1
        while True:
            first = claim(args) * COLUMNS
            if first >= width:
                break
            last = min(width, first + COLUMNS)
            for sequence in range(get(context, N_SEQUENCES)):
                row, n = rows_of_sequence(context, sequence)
                state = state_of(context, sequence, int_at(args + 88), int_at(args + 96))
                source = x + row * stride
                for t in range(n):
                    for c in range(first, last, 16):
                        total = all16(ZERO)
                        for i in range(taps):
                            value = input_row(state, width, past, source, stride, t + i) + 4 * c
                            total = fma16(load16(value), load16(weights + 4 * (i * width + c)), total)
                        if bias:
                            total = total + load16(bias + 4 * c)
                        store_first(out + (row + t) * ostride + 4 * c, total, last - c)
                for i in range(past):
                    value = input_row(state, width, past, source, stride, n + i)
                    for c in range(first, last, 16):
                        store_first(state + 4 * (i * width + c), load16(value + 4 * c), last - c)

    return short_conv


@njit
def delta_row(state: int, k: int, q: int, n: int, decay: float, beta: float, v: float) -> float:
    """One row of a head's matrix through one token; returns its output."""
    decays, found = all16(decay), all16(ZERO)
    for j in range(0, n, 16):
        kept = first_lanes(load16(state + 4 * j) * decays, n - j, ZERO)
        found = (
            fma16(kept, load16(k + 4 * j), found)
            if n - j >= 16
            else fma16(kept, first_lanes(load16(k + 4 * j), n - j, ZERO), found)
        )
    change, y = all16(beta * (v - sum16(found))), all16(ZERO)
    for j in range(0, n, 16):
        now = first_lanes(fma16(change, load16(k + 4 * j), load16(state + 4 * j) * decays), n - j, ZERO)
        store_first(state + 4 * j, now, n - j)
        y = fma16(now, first_lanes(load16(q + 4 * j), n - j, ZERO), y)
    return sum16(y)


def build_delta_net() -> Callable[..., None]:
    """Arguments: q, stride, k, stride, v, stride, decay, stride, beta, stride, out, its stride, heads, key heads, key,
    value, states, bytes a state."""

    def delta_net(args: int, context: int, thread: int, threads: int) -> None:
        heads, key_heads, key, value = int_at(args + 120), int_at(args + 128), int_at(args + 136), int_at(args + 144)
        while True:
            item = claim(args)
            sequence, h = item // heads, item % heads
            if sequence >= get(context, N_SEQUENCES):
                break
            row, n = rows_of_sequence(context, sequence)
            state = state_of(context, sequence, int_at(args + 152), int_at(args + 160)) + 4 * h * value * key
            for t in range(row, row + n):
                q = int_at(args + 24) + t * int_at(args + 32) + 4 * (h % key_heads) * key
                k = int_at(args + 40) + t * int_at(args + 48) + 4 * (h % key_heads) * key
                v = int_at(args + 56) + t * int_at(args + 64) + 4 * h * value
                decay = exp1(float_at(int_at(args + 72) + t * int_at(args + 80) + 4 * h))
                beta = float_at(int_at(args + 88) + t * int_at(args + 96) + 4 * h)
                out = int_at(args + 104) + t * int_at(args + 112) + 4 * h * value
                for r in range(value):
                    y = delta_row(state + 4 * r * key, k, q, key, decay, beta, float_at(v + 4 * r))
                    put_float(out + 4 * r, y)

    return delta_net


@njit
def scan_row(state: int, b: int, c: int, n: int, dt: float, a: int, per_column: int, pushed: float) -> float:
    """One row of a head's matrix through one token; `a`: one decay, or one for each column."""
    push, y = all16(pushed), all16(ZERO)
    decays = all16(exp1(dt * float_at(a)))
    for j in range(0, n, 16):
        if per_column:
            decays = exp16(all16(dt) * load16(a + 4 * j))
        now = first_lanes(fma16(push, load16(b + 4 * j), load16(state + 4 * j) * decays), n - j, ZERO)
        store_first(state + 4 * j, now, n - j)
        y = fma16(now, first_lanes(load16(c + 4 * j), n - j, ZERO), y)
    return sum16(y)


def build_ssm_scan() -> Callable[..., None]:
    """Arguments: x, stride, dt, stride, b, stride, c, stride, out, its stride, heads, groups, head, n_state, a, whether
    a has one value a column, states, bytes a state, heads a piece."""

    def ssm_scan(args: int, context: int, thread: int, threads: int) -> None:
        heads, groups, head, n_state = int_at(args + 104), int_at(args + 112), int_at(args + 120), int_at(args + 128)
        a, per_column, piece = int_at(args + 136), int_at(args + 144), int_at(args + 168)
        pieces = (heads + piece - 1) // piece
        while True:
            item = claim(args)
            sequence, first = item // pieces, item % pieces * piece
            if sequence >= get(context, N_SEQUENCES):
                break
            row, n = rows_of_sequence(context, sequence)
            states = state_of(context, sequence, int_at(args + 152), int_at(args + 160))
            for t in range(row, row + n):
                for h in range(first, min(heads, first + piece)):
                    group = 4 * (h // (heads // groups)) * n_state
                    dt = float_at(int_at(args + 40) + t * int_at(args + 48) + 4 * h)
                    b = int_at(args + 56) + t * int_at(args + 64) + group
                    c = int_at(args + 72) + t * int_at(args + 80) + group
                    decay = a + 4 * h * (n_state if per_column else 1)
                    for r in range(head):
                        x = float_at(int_at(args + 24) + t * int_at(args + 32) + 4 * (h * head + r))
                        state = states + 4 * (h * head + r) * n_state
                        y = scan_row(state, b, c, n_state, dt, decay, per_column, dt * x)
                        put_float(int_at(args + 88) + t * int_at(args + 96) + 4 * (h * head + r), y)

    return ssm_scan
