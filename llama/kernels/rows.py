"""Operations that look along a row: norms, softmax, sums, rotations. Each thread does its own rows.

Arguments of all: rows kind, x, its stride, out, its stride, segments, size of a segment, then what the builder says.
"""

from collections.abc import Callable

import numpy as np
from numba import njit

from llama.kernels.context import ROW_POSITIONS, get, rows_of
from llama.kernels.elements import each_row
from llama.kernels.vectors import (
    all16,
    bits_to_float,
    exp16,
    first_lanes,
    float_at,
    fma16,
    int32_at,
    int_at,
    load16,
    max16,
    put_float,
    store16,
    store_first,
    sum16,
    top16,
)

LOWEST = np.float32(-np.inf)


@njit
def sum_of(x: int, n: int) -> float:
    """Sum of n floats."""
    total = all16(np.float32(0.0))
    for j in range(0, n - n % 16, 16):
        total = total + load16(x + 4 * j)
    if n % 16:
        total = total + first_lanes(load16(x + 4 * (n - n % 16)), n % 16, np.float32(0.0))
    return sum16(total)


@njit
def sum_of_squares(x: int, n: int, mean: float) -> float:
    """Sum of (x - mean)^2 of n floats."""
    total, means = all16(np.float32(0.0)), all16(mean)
    for j in range(0, n - n % 16, 16):
        v = load16(x + 4 * j) - means
        total = fma16(v, v, total)
    if n % 16:
        v = first_lanes(load16(x + 4 * (n - n % 16)) - means, n % 16, np.float32(0.0))
        total = fma16(v, v, total)
    return sum16(total)


@njit
def write_normed(x: int, out: int, n: int, mean: float, factor: float, weight: int, bias: int) -> None:
    """(x - mean) * factor * weight + bias; addresses of 0 stand for none."""
    means, factors = all16(mean), all16(factor)
    for j in range(0, n, 16):
        v = (load16(x + 4 * j) - means) * factors
        if weight:
            v = v * load16(weight + 4 * j)
        if bias:
            v = v + load16(bias + 4 * j)
        if n - j >= 16:
            store16(out + 4 * j, v)
        else:
            store_first(out + 4 * j, v, n - j)


def build_norm(kind: str) -> Callable[..., None]:
    """rms, layer or l2. Arguments: weight, its bytes a segment, bias, its bytes a segment, eps."""
    layer, l2 = kind == "layer", kind == "l2"
    one, zero = np.float32(1.0), np.float32(0.0)

    def body(args: int, x: int, out: int, t: int) -> None:
        n, eps = int_at(args + 72), bits_to_float(int_at(args + 112))
        for s in range(int_at(args + 64)):
            source, target = x + 4 * s * n, out + 4 * s * n
            weight = int_at(args + 80) + s * int_at(args + 88)
            bias = int_at(args + 96) + s * int_at(args + 104)
            mean = zero
            if layer:
                mean = sum_of(source, n) / np.float32(n)
            squares = sum_of_squares(source, n, mean)
            length = max(np.sqrt(squares), eps) if l2 else np.sqrt(squares / np.float32(n) + eps)
            factor = one / length
            write_normed(source, target, n, mean, factor, weight, bias)

    return each_row(body)


def build_softmax() -> Callable[..., None]:
    """Softmax of each segment."""

    def body(args: int, x: int, out: int, t: int) -> None:
        n = int_at(args + 72)
        for s in range(int_at(args + 64)):
            source, target = x + 4 * s * n, out + 4 * s * n
            most = all16(LOWEST)
            for j in range(0, n, 16):
                most = max16(most, first_lanes(load16(source + 4 * j), n - j, LOWEST))
            tops, total = all16(top16(most)), all16(np.float32(0.0))
            for j in range(0, n, 16):
                v = first_lanes(exp16(load16(source + 4 * j) - tops), n - j, np.float32(0.0))
                total = total + v
                store_first(target + 4 * j, v, n - j)
            whole = all16(np.float32(1.0) / sum16(total))
            for j in range(0, n, 16):
                store_first(target + 4 * j, load16(target + 4 * j) * whole, n - j)

    return each_row(body)


def build_reduce(kind: str) -> Callable[..., None]:
    """sum, mean or std: one number a segment."""
    mean, std = kind == "mean", kind == "std"

    def body(args: int, x: int, out: int, t: int) -> None:
        n = int_at(args + 72)
        for s in range(int_at(args + 64)):
            source = x + 4 * s * n
            value = sum_of(source, n)
            if mean or std:
                value = value / np.float32(n)
            if std:
                value = np.sqrt(sum_of_squares(source, n, value) / np.float32(n - 1))
            put_float(out + 4 * s, value)

    return each_row(body)


@njit
def turn(x: int, y: int, c: float, s: float) -> None:
    """Rotate the pair at two addresses."""
    a, b = float_at(x), float_at(y)
    put_float(x, a * c - b * s)
    put_float(y, a * s + b * c)


def build_rope() -> Callable[..., None]:
    """Segments are heads. Arguments: first column, pairs, address of the table's address, whether pairs are neighbours.

    The table has for each position the cosines of all pairs, then the sines.
    """

    def rope(args: int, context: int, thread: int, threads: int) -> None:
        n = rows_of(context, int_at(args + 24))
        heads, size, pairs = int_at(args + 64), int_at(args + 72), int_at(args + 88)
        table, neighbours = int_at(int_at(args + 96)), int_at(args + 104)
        for t in range(n * thread // threads, n * (thread + 1) // threads):
            x, out = int_at(args + 32) + t * int_at(args + 40), int_at(args + 48) + t * int_at(args + 56)
            cosines = table + int32_at(get(context, ROW_POSITIONS) + 4 * t) * pairs * 8
            sines = cosines + 4 * pairs
            if out != x:
                for j in range(0, 4 * heads * size, 64):
                    store16(out + j, load16(x + j))
            for h in range(heads):
                head = out + 4 * (h * size + int_at(args + 80))
                if neighbours:
                    for i in range(pairs):
                        turn(head + 8 * i, head + 8 * i + 4, float_at(cosines + 4 * i), float_at(sines + 4 * i))
                elif pairs % 16 == 0:
                    for j in range(0, 4 * pairs, 64):
                        a, b = load16(head + j), load16(head + 4 * pairs + j)
                        c, s = load16(cosines + j), load16(sines + j)
                        store16(head + j, a * c - b * s)
                        store16(head + 4 * pairs + j, a * s + b * c)
                else:
                    for i in range(pairs):
                        turn(head + 4 * i, head + 4 * (pairs + i), float_at(cosines + 4 * i), float_at(sines + 4 * i))

    return rope
