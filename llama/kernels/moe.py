"""Mixtures of experts: who goes where, each slot through its expert's matrix, and the weighted sum."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from llama.kernels.atomics import claim
from llama.kernels.context import rows_of, scratch_of
from llama.kernels.elements import each_row
from llama.kernels.layout import GROUP, Layout
from llama.kernels.tiles import code_tile, float_tile
from llama.kernels.vectors import (
    all16,
    bits_to_float,
    exp1,
    float_at,
    fma16,
    int_at,
    load16,
    put_float,
    store16,
)

SMALLEST_SUM = np.float32(6.103515625e-5)  # of chosen weights, when they are normalised: llama.cpp's clamp
LOWEST = np.float32(-np.inf)
GATES = {"none": 0, "softmax": 1, "sigmoid": 2}


@njit
def softmax_in_place(x: int, n: int) -> None:
    """n floats become their softmax."""
    top = LOWEST
    for i in range(n):
        top = max(top, float_at(x + 4 * i))
    total = np.float32(0.0)
    for i in range(n):
        e = exp1(float_at(x + 4 * i) - top)
        put_float(x + 4 * i, e)
        total += e
    for i in range(n):
        put_float(x + 4 * i, float_at(x + 4 * i) / total)


@njit
def sigmoid_in_place(x: int, n: int) -> None:
    """n floats become their logistic function."""
    for i in range(n):
        put_float(x + 4 * i, np.float32(1.0) / (np.float32(1.0) + exp1(-float_at(x + 4 * i))))


@njit
def best_of(x: int, n: int) -> int:
    """Index of the largest of n floats, the first of equals."""
    best = 0
    for i in range(1, n):
        if float_at(x + 4 * i) > float_at(x + 4 * best):
            best = i
    return best


@njit
def keep_best_groups(scores: int, n: int, groups: int, used: int, totals: int) -> None:
    """Scores outside the `used` best groups become -inf; a group counts as its two best together."""
    size = n // groups
    for g in range(groups):
        first, second = LOWEST, LOWEST
        for i in range(g * size, (g + 1) * size):
            value = float_at(scores + 4 * i)
            if value > first:
                first, second = value, first
            elif value > second:
                second = value
        put_float(totals + 4 * g, first + second if size > 1 else first)
    for _ in range(used):
        put_float(totals + 4 * best_of(totals, groups), LOWEST)
    for g in range(groups):
        if float_at(totals + 4 * g) != LOWEST:
            for i in range(g * size, (g + 1) * size):
                put_float(scores + 4 * i, LOWEST)


def build_route() -> Callable[..., None]:
    """Arguments: kind, x, stride, out, its stride, experts, used, gate, softmax / sigmoid of chosen, normalise, scale,
    bias, groups, groups used."""

    def route(args: int, context: int, thread: int, threads: int) -> None:
        n, used, gate = int_at(args + 64), int_at(args + 72), int_at(args + 80)
        bias, groups = int_at(args + 112), int_at(args + 120)
        rows = rows_of(context, int_at(args + 24))
        odds = scratch_of(context, thread)
        scores, totals = odds + 4 * n, odds + 8 * n
        for t in range(rows * thread // threads, rows * (thread + 1) // threads):
            x, ids = int_at(args + 32) + t * int_at(args + 40), int_at(args + 48) + t * int_at(args + 56)
            weights = ids + 4 * used
            for i in range(n):
                put_float(odds + 4 * i, float_at(x + 4 * i))
            if gate == 1:
                softmax_in_place(odds, n)
            elif gate == 2:
                sigmoid_in_place(odds, n)
            for i in range(n):
                put_float(
                    scores + 4 * i, float_at(odds + 4 * i) + (float_at(bias + 4 * i) if bias else np.float32(0.0))
                )
            if groups > 1:
                keep_best_groups(scores, n, groups, int_at(args + 128), totals)
            for k in range(used):
                best = best_of(scores, n)
                put_float(ids + 4 * k, np.float32(best))
                put_float(weights + 4 * k, float_at(odds + 4 * best))
                put_float(scores + 4 * best, LOWEST)
            if int_at(args + 88) == 1:
                softmax_in_place(weights, used)
            elif int_at(args + 88) == 2:
                sigmoid_in_place(weights, used)
            factor = bits_to_float(int_at(args + 104))
            if int_at(args + 96):
                total = np.float32(0.0)
                for k in range(used):
                    total += float_at(weights + 4 * k)
                total = max(total, SMALLEST_SUM)
                for k in range(used):
                    put_float(weights + 4 * k, float_at(weights + 4 * k) / total)
            for k in range(used):
                put_float(weights + 4 * k, float_at(weights + 4 * k) * factor)

    return route


def build_experts(kernel_set: str, layout: Layout) -> Callable[..., None]:
    """Each slot through its expert.

    Arguments: kind, x, stride, bytes a slot, codes, scales, code bytes and scale bytes a matrix, rows, steps, out, its
    stride, chosen, its stride, slots, bias, groups a piece, code bytes and scale bytes a group, experts.
    """
    tile: Any = float_tile(layout, 1) if layout.is_float else code_tile(kernel_set, layout, 1)

    @njit
    def one_slot(w: int, s: int, x: int, steps: int, out: int, columns: int, bias: int, spare: int) -> None:
        """16 rows for one token; fewer than 16 columns go through `spare`."""
        if columns >= GROUP:
            tile(w, s, x, 0, steps, out, 0, bias, 0, 0)
        else:
            tile(w, s, x, 0, steps, spare, 0, bias, 0, 0)
            for i in range(columns):
                put_float(out + 4 * i, float_at(spare + 4 * i))

    def experts(args: int, context: int, thread: int, threads: int) -> None:
        n = rows_of(context, int_at(args + 24))
        rows, steps, slots, piece = int_at(args + 88), int_at(args + 96), int_at(args + 136), int_at(args + 152)
        code_bytes, scale_bytes = int_at(args + 160), int_at(args + 168)
        groups = (rows + GROUP - 1) // GROUP
        pieces = (groups + piece - 1) // piece
        while True:
            item = claim(args)
            expert, first = item // pieces, item % pieces * piece
            if expert >= int_at(args + 176):
                break
            codes = int_at(args + 56) + expert * int_at(args + 72)
            scales = int_at(args + 64) + expert * int_at(args + 80)
            bias = int_at(args + 144) + 4 * expert * rows if int_at(args + 144) else 0
            for g in range(first, min(groups, first + piece)):
                for t in range(n):
                    chosen = int_at(args + 120) + t * int_at(args + 128)
                    for k in range(slots):
                        if int(float_at(chosen + 4 * k)) == expert:
                            x = int_at(args + 32) + t * int_at(args + 40) + k * int_at(args + 48)
                            out = int_at(args + 104) + t * int_at(args + 112) + 4 * (k * rows + g * GROUP)
                            one_slot(
                                codes + g * code_bytes,
                                scales + g * scale_bytes,
                                x,
                                steps,
                                out,
                                rows - g * GROUP,
                                bias + 4 * g * GROUP if bias else 0,
                                scratch_of(context, thread),
                            )

    return experts


def build_expert_sum() -> Callable[..., None]:
    """Sum of weighted slots. Arguments after the usual five: width, chosen, its stride, slots."""

    def body(args: int, x: int, out: int, t: int) -> None:
        width, slots = int_at(args + 64), int_at(args + 88)
        weights = int_at(args + 72) + t * int_at(args + 80) + 4 * slots
        for j in range(0, width - width % 16, 16):
            total = load16(x + 4 * j) * all16(float_at(weights))
            for k in range(1, slots):
                total = fma16(load16(x + 4 * (k * width + j)), all16(float_at(weights + 4 * k)), total)
            store16(out + 4 * j, total)
        for j in range(width - width % 16, width):
            rest = float_at(x + 4 * j) * float_at(weights)
            for k in range(1, slots):
                rest += float_at(x + 4 * (k * width + j)) * float_at(weights + 4 * k)
            put_float(out + 4 * j, rest)

    return each_row(body)
