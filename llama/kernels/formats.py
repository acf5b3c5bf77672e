"""Unpacks one row of a GGUF type: value = scale * (code - zero), or scale * code + minimum.

Each function takes addresses: the packed row, how many columns, where the codes (a byte a column), the scales and the
minima (float32, one for each 16 or 32 columns) go. The formats are ggml's (ggml-common.h, ggml-quants.c).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType as T
from gguf.quants import IQ4_NL, MXFP4
from numba import njit

from llama.kernels.vectors import (
    bits_to_float,
    byte_at,
    float_at,
    half_at,
    put_byte,
    put_float,
    rounded,
    short_at,
    signed_byte_at,
)

IQ4_VALUES = np.array(IQ4_NL.kvalues, np.int64)
FP4_VALUES = np.array(MXFP4.kvalues, np.int64)


@njit
def nibbles(source: int, codes: int) -> None:
    """16 bytes -> 32 codes: low halves first, then high halves."""
    for i in range(16):
        byte = byte_at(source + i)
        put_byte(codes + i, byte & 15)
        put_byte(codes + 16 + i, byte >> 4)


@njit
def fifth_bits(source: int, codes: int) -> None:
    """4 bytes: bit i is the fifth bit of code i."""
    for i in range(32):
        bit = (byte_at(source + i // 8) >> (i & 7)) & 1
        put_byte(codes + i, byte_at(codes + i) | (bit << 4))


def q4_0(row: int, n: int, codes: int, scales: int, minima: int) -> None:
    for b in range(n // 32):
        put_float(scales + 4 * b, half_at(row + 18 * b))
        nibbles(row + 18 * b + 2, codes + 32 * b)


def q4_1(row: int, n: int, codes: int, scales: int, minima: int) -> None:
    for b in range(n // 32):
        put_float(scales + 4 * b, half_at(row + 20 * b))
        put_float(minima + 4 * b, half_at(row + 20 * b + 2))
        nibbles(row + 20 * b + 4, codes + 32 * b)


def q5_0(row: int, n: int, codes: int, scales: int, minima: int) -> None:
    for b in range(n // 32):
        put_float(scales + 4 * b, half_at(row + 22 * b))
        nibbles(row + 22 * b + 6, codes + 32 * b)
        fifth_bits(row + 22 * b + 2, codes + 32 * b)


def q5_1(row: int, n: int, codes: int, scales: int, minima: int) -> None:
    for b in range(n // 32):
        put_float(scales + 4 * b, half_at(row + 24 * b))
        put_float(minima + 4 * b, half_at(row + 24 * b + 2))
        nibbles(row + 24 * b + 8, codes + 32 * b)
        fifth_bits(row + 24 * b + 4, codes + 32 * b)


def q8_0(row: int, n: int, codes: int, scales: int, minima: int) -> None:
    for b in range(n // 32):
        put_float(scales + 4 * b, half_at(row + 34 * b))
        for i in range(32):
            put_byte(codes + 32 * b + i, byte_at(row + 34 * b + 2 + i) ^ 128)


def q8_k(row: int, n: int, codes: int, scales: int, minima: int) -> None:
    for s in range(n // 256):
        for b in range(8):
            put_float(scales + 4 * (8 * s + b), float_at(row + 292 * s))
        for i in range(256):
            put_byte(codes + 256 * s + i, byte_at(row + 292 * s + 4 + i) ^ 128)


def q2_k(row: int, n: int, codes: int, scales: int, minima: int) -> None:
    for s in range(n // 256):
        p = row + 84 * s
        d, m = half_at(p + 80), half_at(p + 82)
        for b in range(16):
            both = byte_at(p + b)
            put_float(scales + 4 * (16 * s + b), d * np.float32(both & 15))
            put_float(minima + 4 * (16 * s + b), -m * np.float32(both >> 4))
        for i in range(256):
            byte = byte_at(p + 16 + (i >> 7) * 32 + (i & 31))
            put_byte(codes + 256 * s + i, (byte >> (2 * ((i >> 5) & 3))) & 3)


def q3_k(row: int, n: int, codes: int, scales: int, minima: int) -> None:
    for s in range(n // 256):
        p = row + 110 * s
        d = half_at(p + 108)
        for b in range(16):
            low = (byte_at(p + 96 + (b & 7)) >> (4 * (b >> 3))) & 15
            high = (byte_at(p + 104 + (b & 3)) >> (2 * (b >> 2))) & 3
            put_float(scales + 4 * (16 * s + b), d * np.float32((low | (high << 4)) - 32))
        for i in range(256):
            low = (byte_at(p + 32 + (i >> 7) * 32 + (i & 31)) >> (2 * ((i >> 5) & 3))) & 3
            high = (byte_at(p + (i & 31)) >> (i >> 5)) & 1
            put_byte(codes + 256 * s + i, low | (high << 2))


@njit
def six_bit_scales(packed: int, d: float, m: float, scales: int, minima: int) -> None:
    """The 12 bytes of Q4_K and Q5_K: eight scales and eight minima of six bits."""
    for b in range(8):
        if b < 4:
            scale, low = byte_at(packed + b) & 63, byte_at(packed + 4 + b) & 63
        else:
            byte = byte_at(packed + 4 + b)
            scale = (byte & 15) | ((byte_at(packed + b - 4) >> 6) << 4)
            low = (byte >> 4) | ((byte_at(packed + b) >> 6) << 4)
        put_float(scales + 4 * b, d * np.float32(scale))
        put_float(minima + 4 * b, -m * np.float32(low))


def q4_k(row: int, n: int, codes: int, scales: int, minima: int) -> None:
    for s in range(n // 256):
        p = row + 144 * s
        six_bit_scales(p + 4, half_at(p), half_at(p + 2), scales + 32 * s, minima + 32 * s)
        for i in range(256):
            byte = byte_at(p + 16 + (i >> 6) * 32 + (i & 31))
            put_byte(codes + 256 * s + i, (byte >> (4 * ((i >> 5) & 1))) & 15)


def q5_k(row: int, n: int, codes: int, scales: int, minima: int) -> None:
    for s in range(n // 256):
        p = row + 176 * s
        six_bit_scales(p + 4, half_at(p), half_at(p + 2), scales + 32 * s, minima + 32 * s)
        for i in range(256):
            byte = byte_at(p + 48 + (i >> 6) * 32 + (i & 31))
            high = (byte_at(p + 16 + (i & 31)) >> (i >> 5)) & 1
            put_byte(codes + 256 * s + i, ((byte >> (4 * ((i >> 5) & 1))) & 15) | (high << 4))


def q6_k(row: int, n: int, codes: int, scales: int, minima: int) -> None:
    for s in range(n // 256):
        p = row + 210 * s
        d = half_at(p + 208)
        for b in range(16):
            put_float(scales + 4 * (16 * s + b), d * np.float32(signed_byte_at(p + 192 + b)))
        for i in range(256):
            byte = byte_at(p + (i >> 7) * 64 + (i & 63))
            high = (byte_at(p + 128 + (i >> 7) * 32 + (i & 31)) >> (2 * ((i >> 5) & 3))) & 3
            put_byte(codes + 256 * s + i, ((byte >> (4 * ((i >> 6) & 1))) & 15) | (high << 4))


def iq4_nl(row: int, n: int, codes: int, scales: int, minima: int) -> None:
    for b in range(n // 32):
        put_float(scales + 4 * b, half_at(row + 18 * b))
        nibbles(row + 18 * b + 2, codes + 32 * b)
    for i in range(n):
        put_byte(codes + i, IQ4_VALUES[byte_at(codes + i)] + 128)


def iq4_xs(row: int, n: int, codes: int, scales: int, minima: int) -> None:
    for s in range(n // 256):
        p = row + 136 * s
        d, high = half_at(p), short_at(p + 2)
        for b in range(8):
            low = (byte_at(p + 4 + b // 2) >> (4 * (b & 1))) & 15
            put_float(scales + 4 * (8 * s + b), d * np.float32((low | (((high >> (2 * b)) & 3) << 4)) - 32))
            nibbles(p + 8 + 16 * b, codes + 256 * s + 32 * b)
    for i in range(n):
        put_byte(codes + i, IQ4_VALUES[byte_at(codes + i)] + 128)


def mxfp4(row: int, n: int, codes: int, scales: int, minima: int) -> None:
    for b in range(n // 32):
        e = byte_at(row + 17 * b)  # the scale is 2 ** (e - 128): values are doubled
        put_float(scales + 4 * b, bits_to_float((e - 1) << 23) if e >= 2 else bits_to_float(0x200000 << e))
        nibbles(row + 17 * b + 1, codes + 32 * b)
    for i in range(n):
        put_byte(codes + i, FP4_VALUES[byte_at(codes + i)] + 12)


def from_units(sub: int, zero: int) -> Callable[..., Any]:
    """Rows of n floats, then one unit for each `sub` columns that all of them are whole multiples of."""

    def unpack(row: int, n: int, codes: int, scales: int, minima: int) -> None:
        for b in range(n // sub):
            unit = float_at(row + 4 * (n + b))
            put_float(scales + 4 * b, unit)
            inverse = np.float32(0.0) if unit == 0 else np.float32(1.0) / unit
            for i in range(b * sub, b * sub + sub):
                put_byte(codes + i, rounded(float_at(row + 4 * i) * inverse) + zero)

    return unpack


UNPACKERS: dict[int, Callable[..., None]] = {
    T.Q4_0: q4_0,
    T.Q4_1: q4_1,
    T.Q5_0: q5_0,
    T.Q5_1: q5_1,
    T.Q8_0: q8_0,
    T.Q8_K: q8_k,
    T.Q2_K: q2_k,
    T.Q3_K: q3_k,
    T.Q4_K: q4_k,
    T.Q5_K: q5_k,
    T.Q6_K: q6_k,
    T.IQ4_NL: iq4_nl,
    T.IQ4_XS: iq4_xs,
    T.MXFP4: mxfp4,
}
