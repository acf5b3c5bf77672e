"""Reads one metadata value: a number, a truth value, a string, or an array of these."""

import struct
from typing import Any

import numpy as np

from llama.errors import ModelFileError
from llama.modelfile.cursor import Cursor

STRING, ARRAY = 8, 9
LAYOUTS = {
    0: struct.Struct("<B"),
    1: struct.Struct("<b"),
    2: struct.Struct("<H"),
    3: struct.Struct("<h"),
    4: struct.Struct("<I"),
    5: struct.Struct("<i"),
    6: struct.Struct("<f"),
    7: struct.Struct("<?"),
    10: struct.Struct("<Q"),
    11: struct.Struct("<q"),
    12: struct.Struct("<d"),
}
ARRAY_DTYPES: dict[int, np.dtype[Any]] = {
    0: np.dtype("<u1"),
    1: np.dtype("<i1"),
    2: np.dtype("<u2"),
    3: np.dtype("<i2"),
    4: np.dtype("<u4"),
    5: np.dtype("<i4"),
    6: np.dtype("<f4"),
    7: np.dtype("<u1"),
    10: np.dtype("<u8"),
    11: np.dtype("<i8"),
    12: np.dtype("<f8"),
}
BOOL = 7
MAX_DEPTH = 4  # of arrays in arrays
ARRAY_HEADER = 12  # bytes of an array's element type and count
SMALLEST_ENTRY = 8 + 4 + 1  # bytes of a key's length, a value type and a one-byte value


def read_metadata(cursor: Cursor, n: int) -> dict[str, object]:
    """The next `n` key-value pairs: str, int, float, bool, list[str], list of arrays, or a numpy array of numbers."""
    metadata: dict[str, object] = {}
    for i in range(n):
        key = cursor.name_of(f"the name of metadata entry {i + 1} of {n}")
        if key in metadata:
            raise cursor.fail(f"metadata key {key!r} stands there twice")
        what = f"the value of {key!r}"
        kind = cursor.u32(f"the type of {key!r}")
        metadata[key] = _array(cursor, what, 1) if kind == ARRAY else _single(cursor, kind, what)
    return metadata


def _single(cursor: Cursor, kind: int, what: str) -> object:
    if kind == STRING:
        return cursor.string(what)
    if kind not in LAYOUTS:
        raise _unknown(cursor, kind, what)
    return cursor.scalar(LAYOUTS[kind], what)


def _array(cursor: Cursor, what: str, depth: int) -> object:
    kind = cursor.u32(f"the element type of {what}")
    if kind == STRING:
        return cursor.strings(cursor.count(f"the length of {what}", 8), what)
    if kind == ARRAY:
        return _nested(cursor, what, depth)
    if kind not in ARRAY_DTYPES:
        raise _unknown(cursor, kind, what)
    return _numbers(cursor, kind, what)


def _nested(cursor: Cursor, what: str, depth: int) -> list[object]:
    n = cursor.count(f"the length of {what}", ARRAY_HEADER)
    if depth == MAX_DEPTH:
        raise cursor.fail(f"{what} nests arrays deeper than {MAX_DEPTH}")
    cursor.spend(n, 0, what)
    return [_array(cursor, what, depth + 1) for _ in range(n)]


def _numbers(cursor: Cursor, kind: int, what: str) -> object:
    dtype = ARRAY_DTYPES[kind]
    n = cursor.count(f"the length of {what}", dtype.itemsize)
    cursor.spend(0, n * dtype.itemsize, what)
    numbers = np.frombuffer(cursor.take(n * dtype.itemsize, what), dtype)
    return numbers != 0 if kind == BOOL else numbers.astype(dtype.newbyteorder("="), copy=False)


def _unknown(cursor: Cursor, kind: int, what: str) -> ModelFileError:
    return cursor.fail(f"{what} has the unknown type {kind}")
