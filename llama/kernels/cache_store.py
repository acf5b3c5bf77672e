"""Writes new keys and values into the cache blocks of their sequences.

Block of a layer: the keys of all heads, then the values of all heads, each as attention_tiles.py says.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from llama.kernels.attention_tiles import POSITIONS, CacheType
from llama.kernels.context import BLOCKS, BLOCKS_STRIDE, N_ROWS, ROW_POSITIONS, ROW_SEQUENCES, STARTS, get
from llama.kernels.vectors import float_at, int32_at, int_at, put_byte, put_float, put_half, rounded


@njit
def block_address(context: int, sequence: int, position: int, base: int, block_bytes: int) -> int:
    """Where a layer keeps the block that holds a position of a sequence."""
    row = get(context, BLOCKS) + sequence * get(context, BLOCKS_STRIDE)
    return base + int32_at(row + 4 * (position // POSITIONS)) * block_bytes


def build_put(kind: CacheType) -> tuple[Any, Any]:
    """Compiled-code functions that write one head's key, and one head's value, at a place in a block."""
    size, quantised, wide = kind.size, kind.name == "q8_0", kind.name == "f32"

    @njit
    def put(address: int, value: float) -> None:
        if wide:
            put_float(address, value)
        else:
            put_half(address, value)

    @njit
    def put_steps(x: int, columns: int, codes: int, stride: int, steps: int, steps_stride: int) -> None:
        """Quantise 32 columns at a time."""
        for start in range(0, columns, 32):
            stop = min(start + 32, columns)
            most = np.float32(0.0)
            for c in range(start, stop):
                most = max(most, abs(float_at(x + 4 * c)))
            inverse = np.float32(127.0) / most if most > 0 else np.float32(0.0)
            put_half(steps + start // 32 * steps_stride, most / np.float32(127.0))
            for c in range(start, stop):
                put_byte(codes + c * stride, rounded(float_at(x + 4 * c) * inverse))

    @njit
    def put_key(x: int, columns: int, padded: int, head: int, place: int) -> None:
        if quantised:
            steps = head + padded * POSITIONS + 2 * place
            put_steps(x, columns, head + place, POSITIONS, steps, 2 * POSITIONS)
        else:
            for c in range(columns):
                put(head + (c * POSITIONS + place) * size, float_at(x + 4 * c))

    @njit
    def put_value(x: int, columns: int, padded: int, head: int, place: int) -> None:
        if quantised:
            steps = head + padded * POSITIONS + padded // 32 * 2 * place
            put_steps(x, columns, head + place * padded, 1, steps, 2)
        else:
            for c in range(columns):
                put(head + (place * padded + c) * size, float_at(x + 4 * c))

    return put_key, put_value


def build_store(type_k: CacheType, type_v: CacheType) -> Callable[..., None]:
    """Arguments: k, its stride, v, its stride, cache, block bytes, offset of values, heads, head_k, head_v.

    Behind a sequence's last token the values of the block are cleared: masked positions have weight 0, and 0 times
    what another sequence left there must be 0. Narrow types never hold what is not a finite number once the block was
    cleared at its first token, so that once is enough for them.
    """
    put_key, put_value = build_put(type_k)[0], build_put(type_v)[1]
    key_bytes, value_bytes = type_k.size * POSITIONS, type_v.size * POSITIONS
    key_unit, value_unit = type_k.padded(1), type_v.padded(1)
    key_steps, value_steps = (POSITIONS // 16 if t.name == "q8_0" else 0 for t in (type_k, type_v))
    value_size, value_quantised = type_v.size, type_v.name == "q8_0"
    value_wide = type_v.name == "f32"

    @njit
    def clear_behind(head: int, padded: int, place: int) -> None:
        for i in range((place + 1) * padded * value_size, POSITIONS * padded * value_size):
            put_byte(head + i, 0)
        if value_quantised:
            steps = head + padded * POSITIONS
            for i in range((place + 1) * padded // 32 * 2, POSITIONS * padded // 32 * 2):
                put_byte(steps + i, 0)

    def store(args: int, context: int, thread: int, threads: int) -> None:
        k, kstride, v, vstride = int_at(args + 24), int_at(args + 32), int_at(args + 40), int_at(args + 48)
        base, block_bytes, offset, heads = int_at(args + 56), int_at(args + 64), int_at(args + 72), int_at(args + 80)
        head_k, head_v = int_at(args + 88), int_at(args + 96)
        kpad, vpad = -(-head_k // key_unit) * key_unit, -(-head_v // value_unit) * value_unit
        kbytes, vbytes = kpad * (key_bytes + key_steps), vpad * (value_bytes + value_steps)
        n = get(context, N_ROWS)
        for t in range(n * thread // threads, n * (thread + 1) // threads):
            sequence = int32_at(get(context, ROW_SEQUENCES) + 4 * t)
            position = int32_at(get(context, ROW_POSITIONS) + 4 * t)
            block = block_address(context, sequence, position, base, block_bytes)
            place = position % POSITIONS
            starts = get(context, STARTS) + 4 * sequence
            last = t + 1 == int32_at(starts + 4) and (value_wide or t - place >= int32_at(starts))
            for h in range(heads):
                put_key(k + t * kstride + 4 * h * head_k, head_k, kpad, block + h * kbytes, place)
                values = block + offset + h * vbytes
                put_value(v + t * vstride + 4 * h * head_v, head_v, vpad, values, place)
                if last:
                    clear_behind(values, vpad, place)

    return store
