"""Rare GGUF types: the unit that all values of a small block are whole multiples of.

With it and the dequantised values the codes are found again exactly: code = value / unit. Each function takes packed
rows (n, bytes a row) and returns float32 (n, columns / sub).
"""

from collections.abc import Callable

import numpy as np
from gguf import GGMLQuantizationType as T
from gguf.quants import NVFP4
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]
QK_K = 256


def _blocks(rows: Bytes, size: int) -> Bytes:
    return np.ascontiguousarray(rows).reshape(len(rows), -1, size)


def _half(blocks: Bytes, start: int) -> Floats:
    """(n, blocks, 1) from the float16 at byte `start` of each block."""
    return np.ascontiguousarray(blocks[..., start : start + 2]).view(np.float16).astype(np.float32)


def _words(blocks: Bytes, start: int, stop: int, kind: str) -> NDArray[np.int64]:
    words: NDArray[np.int64] = np.ascontiguousarray(blocks[..., start:stop]).view(kind).astype(np.int64)
    return words


def _halves(scales: Bytes) -> NDArray[np.int64]:
    """Low and high half of each byte, in turn."""
    wide = scales.astype(np.int64)[..., None] >> np.array([0, 4])
    return (wide & 15).reshape(*scales.shape[:-1], -1)


def _flat(units: NDArray[np.floating]) -> Floats:
    return np.ascontiguousarray(units.reshape(len(units), -1), np.float32)


def iq2_xxs(rows: Bytes) -> Floats:
    b = _blocks(rows, 66)
    words = _words(b, 2, 66, "<u4")[..., 1::2]
    return _flat(_half(b, 0) * (0.5 + (words >> 28)) * 0.25)


def iq2_xs(rows: Bytes) -> Floats:
    b = _blocks(rows, 74)
    return _flat(_half(b, 0) * (0.5 + _halves(b[..., 66:74])) * 0.25)


def iq2_s(rows: Bytes) -> Floats:
    b = _blocks(rows, 82)
    return _flat(_half(b, 0) * (0.5 + _halves(b[..., 74:82])) * 0.25)


def iq3_xxs(rows: Bytes) -> Floats:
    b = _blocks(rows, 98)
    return _flat(_half(b, 0) * (0.5 + (_words(b, 66, 98, "<u4") >> 28)) * 0.5)


def iq3_s(rows: Bytes) -> Floats:
    b = _blocks(rows, 110)
    return _flat(_half(b, 0) * (1 + 2 * _halves(b[..., 106:110])))


def iq1_s(rows: Bytes) -> Floats:
    """Values are (grid + or - 1/8) times the scale: the unit is an eighth of it."""
    b = _blocks(rows, 50)
    return _flat(_half(b, 0) * (2 * ((_words(b, 34, 50, "<u2") >> 12) & 7) + 1) / 8)


def iq1_m(rows: Bytes) -> Floats:
    """The float16 scale is spread over the top four bits of four words."""
    b = _blocks(rows, 56)
    words = _words(b, 48, 56, "<u2")
    top = (words >> 12) << np.array([0, 4, 8, 12])
    d = top.sum(-1, keepdims=True).astype(np.uint16).view(np.float16).astype(np.float32)
    scales = ((words[..., None] >> np.array([0, 3, 6, 9])) & 7).reshape(*b.shape[:2], 16)
    return _flat(d * (2 * scales + 1) / 8)


def tq1_0(rows: Bytes) -> Floats:
    return _flat(np.repeat(_half(_blocks(rows, 54), 52), QK_K // 32, axis=-1))


def tq2_0(rows: Bytes) -> Floats:
    return _flat(np.repeat(_half(_blocks(rows, 66), 64), QK_K // 32, axis=-1))


def nvfp4(rows: Bytes) -> Floats:
    return _flat(NVFP4.ue4m3_to_fp32(_blocks(rows, 36)[..., :4]))


def q1_0(rows: Bytes) -> Floats:
    return _flat(np.repeat(_half(_blocks(rows, 18), 0), 128 // 32, axis=-1))


def q2_0(rows: Bytes) -> Floats:
    return _flat(np.repeat(_half(_blocks(rows, 18), 0), 64 // 32, axis=-1))


UNITS: dict[int, Callable[[Bytes], Floats]] = {
    T.IQ2_XXS: iq2_xxs,
    T.IQ2_XS: iq2_xs,
    T.IQ2_S: iq2_s,
    T.IQ3_XXS: iq3_xxs,
    T.IQ3_S: iq3_s,
    T.IQ1_S: iq1_s,
    T.IQ1_M: iq1_m,
    T.TQ1_0: tq1_0,
    T.TQ2_0: tq2_0,
    T.NVFP4: nvfp4,
    41: q1_0,
    42: q2_0,
}
