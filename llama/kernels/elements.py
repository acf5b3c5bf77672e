"""Operations on every element, and moves of columns. Each thread does its own rows.

A row of floats takes whole vectors of 16: what lies in the padding is computed with and never looked at.
Arguments of all: rows kind, x, its stride, out, its stride, then what the builder says.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from llama.kernels.context import N_WANTED, OUTPUTS, get, rows_of
from llama.kernels.functions import scalar_pair, vector_function, vector_pair
from llama.kernels.vectors import (
    all16,
    bits_to_float,
    float_at,
    fma16,
    int32_at,
    int_at,
    load16,
    max16,
    min16,
    put_float,
    store16,
    tanh16,
)


def each_row(body: Callable[..., None]) -> Callable[..., None]:
    """A kernel that calls body(args, x, out) for each of the thread's rows."""
    inner = njit(body)

    def kernel(args: int, context: int, thread: int, threads: int) -> None:
        n = rows_of(context, int_at(args + 24))
        x, xstride, out, ostride = int_at(args + 32), int_at(args + 40), int_at(args + 48), int_at(args + 56)
        for t in range(n * thread // threads, n * (thread + 1) // threads):
            inner(args, x + t * xstride, out + t * ostride, t)

    return kernel


def build_unary(name: str) -> Callable[..., None]:
    """f(x). Arguments: width."""
    f: Any = vector_function(name)

    def body(args: int, x: int, out: int, t: int) -> None:
        for j in range(0, 4 * int_at(args + 64), 64):
            store16(out + j, f(load16(x + j)))

    return each_row(body)


def build_gate(name: str) -> Callable[..., None]:
    """f(x) * y. Arguments: width, y, its stride."""
    f: Any = vector_function(name)

    def body(args: int, x: int, out: int, t: int) -> None:
        y = int_at(args + 72) + t * int_at(args + 80)
        for j in range(0, 4 * int_at(args + 64), 64):
            store16(out + j, f(load16(x + j)) * load16(y + j))

    return each_row(body)


def build_binary(name: str) -> Callable[..., None]:
    """x with y, each column of a narrower y stretched. Arguments: width, y, its stride, columns a column of y."""
    f: Any = vector_pair(name)
    g: Any = scalar_pair(name)

    def body(args: int, x: int, out: int, t: int) -> None:
        width, y, each = int_at(args + 64), int_at(args + 72) + t * int_at(args + 80), int_at(args + 88)
        if each == 1:
            for j in range(0, 4 * width, 64):
                store16(out + j, f(load16(x + j), load16(y + j)))
        elif each % 16 == 0:
            for i in range(width // each):
                other = all16(float_at(y + 4 * i))
                for j in range(4 * i * each, 4 * (i + 1) * each, 64):
                    store16(out + j, f(load16(x + j), other))
        else:
            for j in range(width):
                put_float(out + 4 * j, g(float_at(x + 4 * j), float_at(y + 4 * (j // each))))

    return each_row(body)


def build_vector(name: str) -> Callable[..., None]:
    """x with weights, repeated from the start. Arguments: width, weights, how many."""
    f: Any = vector_pair(name)
    g: Any = scalar_pair(name)

    def body(args: int, x: int, out: int, t: int) -> None:
        width, y, many = int_at(args + 64), int_at(args + 72), int_at(args + 80)
        if many == width:
            for j in range(0, 4 * width, 64):
                store16(out + j, f(load16(x + j), load16(y + j)))
        else:
            for j in range(width):
                put_float(out + 4 * j, g(float_at(x + 4 * j), float_at(y + 4 * (j % many))))

    return each_row(body)


def build_scale() -> Callable[..., None]:
    """x * factor + offset. Arguments: width, factor, offset."""

    def body(args: int, x: int, out: int, t: int) -> None:
        factor, offset = all16(bits_to_float(int_at(args + 72))), all16(bits_to_float(int_at(args + 80)))
        for j in range(0, 4 * int_at(args + 64), 64):
            store16(out + j, fma16(load16(x + j), factor, offset))

    return each_row(body)


def build_softcap() -> Callable[..., None]:
    """cap * tanh(x / cap). Arguments: width, cap."""

    def body(args: int, x: int, out: int, t: int) -> None:
        cap = bits_to_float(int_at(args + 72))
        caps, inverse = all16(cap), all16(np.float32(1.0) / cap)
        for j in range(0, 4 * int_at(args + 64), 64):
            store16(out + j, caps * tanh16(load16(x + j) * inverse))

    return each_row(body)


def build_clamp() -> Callable[..., None]:
    """Arguments: width, low, high."""

    def body(args: int, x: int, out: int, t: int) -> None:
        low, high = all16(bits_to_float(int_at(args + 72))), all16(bits_to_float(int_at(args + 80)))
        for j in range(0, 4 * int_at(args + 64), 64):
            store16(out + j, min16(max16(load16(x + j), low), high))

    return each_row(body)


def build_columns() -> Callable[..., None]:
    """Part of a row, to part of another. Arguments: width, first column of x, first column of out."""

    def body(args: int, x: int, out: int, t: int) -> None:
        source, target = x + 4 * int_at(args + 72), out + 4 * int_at(args + 80)
        for j in range(int_at(args + 64)):
            put_float(target + 4 * j, float_at(source + 4 * j))

    return each_row(body)


def build_gather() -> Callable[..., None]:
    """Arguments: width, address of the order (int32)."""

    def body(args: int, x: int, out: int, t: int) -> None:
        order = int_at(args + 72)
        for j in range(int_at(args + 64)):
            put_float(out + 4 * j, float_at(x + 4 * int32_at(order + 4 * j)))

    return each_row(body)


def build_select() -> Callable[..., None]:
    """The wanted rows. Arguments: width. Not row by row: a barrier comes before and after."""

    def select(args: int, context: int, thread: int, threads: int) -> None:
        x, xstride, out, ostride = int_at(args + 32), int_at(args + 40), int_at(args + 48), int_at(args + 56)
        n = get(context, N_WANTED)
        for t in range(n * thread // threads, n * (thread + 1) // threads):
            source = x + int32_at(get(context, OUTPUTS) + 4 * t) * xstride
            for j in range(0, 4 * int_at(args + 64), 64):
                store16(out + t * ostride + j, load16(source + j))

    return select
