"""Tensors as a GGUF file lists them: name, type, shape and place, checked against the size of the file."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from numpy.typing import NDArray

from llama.modelfile.cursor import Cursor

MAX_DIMENSIONS = 4
SMALLEST_INFO = 8 + 4 + 8 + 4 + 8  # bytes of a name's length, a rank, one dimension, a type and an offset
MAX_ELEMENTS = 1 << 48

# GGML's types as (elements, bytes) a block. The library's list lacks Q2_0, whose number stands for it as a plain int.
Q2_0 = 42
BLOCKS = {**GGML_QUANT_SIZES, Q2_0: (64, 18)}
ACTIVATIONS = {GGMLQuantizationType.Q8_1, GGMLQuantizationType.Q8_K}  # never in files, and nothing unpacks them


@dataclass(frozen=True, slots=True, eq=False)
class FileTensor:
    """One tensor of a file, still packed.

    shape is in numpy's order, rows of `shape[-1]` elements. data holds the packed bytes, uint8, read-only, of shape
    (*shape[:-1], bytes a row): a view of the memory map. type is a plain int where the library has no name for it.
    """

    name: str
    type: GGMLQuantizationType | int
    shape: tuple[int, ...]
    data: NDArray[np.uint8]

    @property
    def nbytes(self) -> int:
        """Bytes in the file."""
        return int(self.data.nbytes)


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """Where a tensor lies: `offset` bytes after the start of the data section."""

    name: str
    type: GGMLQuantizationType | int
    shape: tuple[int, ...]
    offset: int

    @property
    def row_bytes(self) -> int:
        """Packed bytes of one row."""
        block, block_bytes = BLOCKS[self.type]
        return int(self.shape[-1] // block * block_bytes)

    @property
    def nbytes(self) -> int:
        """Packed bytes of the whole tensor."""
        return prod(self.shape[:-1]) * self.row_bytes

    def view(self, buffer: NDArray[np.uint8], start: int) -> FileTensor:
        """The tensor's bytes in `buffer`, whose data section begins at `start`."""
        begin = start + self.offset
        data = buffer[begin : begin + self.nbytes].reshape(*self.shape[:-1], self.row_bytes)
        return FileTensor(self.name, self.type, self.shape, data)


def read_infos(cursor: Cursor, n: int) -> list[TensorInfo]:
    """The next `n` tensor descriptions; names are unique."""
    infos: dict[str, TensorInfo] = {}
    for i in range(n):
        info = _read_info(cursor, f"{i + 1} of {n}")
        if info.name in infos:
            raise cursor.fail(f"tensor {info.name!r} stands there twice")
        infos[info.name] = info
    return list(infos.values())


def _read_info(cursor: Cursor, place: str) -> TensorInfo:
    name = cursor.name_of(f"the name of tensor {place}")
    what = f"tensor {name!r}"
    rank = cursor.u32(f"the rank of {what}")
    if not 1 <= rank <= MAX_DIMENSIONS:
        raise cursor.fail(f"{what} has {rank} dimensions, expected 1 to {MAX_DIMENSIONS}")
    shape = tuple(reversed([cursor.u64(f"the shape of {what}") for _ in range(rank)]))
    if min(shape) < 1 or prod(shape) > MAX_ELEMENTS:
        raise cursor.fail(f"{what} has the impossible shape {shape}")
    kind = _kind(cursor, cursor.u32(f"the type of {what}"), what)
    block = BLOCKS[kind][0]
    if shape[-1] % block:
        raise cursor.fail(f"{what} has rows of {shape[-1]} elements, but {type_name(kind)} packs {block} at a time")
    return TensorInfo(name, kind, shape, cursor.u64(f"the offset of {what}"))


def type_name(kind: int) -> str:
    """GGML's name of a tensor type."""
    return "Q2_0" if kind == Q2_0 else str(GGMLQuantizationType(kind).name)


def _kind(cursor: Cursor, value: int, what: str) -> GGMLQuantizationType | int:
    if value not in BLOCKS:
        raise cursor.fail(f"{what} has the unknown type {value}")
    kind: GGMLQuantizationType | int = value if value == Q2_0 else GGMLQuantizationType(value)
    if kind in ACTIVATIONS:
        raise cursor.fail(f"{what} has the type {type_name(kind)}, which cannot be unpacked")
    return kind


def check_places(cursor: Cursor, infos: Sequence[TensorInfo], start: int, alignment: int) -> None:
    """Every tensor lies aligned and within the file, and no two share a byte; ModelFileError otherwise."""
    room = cursor.size - start
    end, before = 0, ""
    for info in sorted(infos, key=lambda info: info.offset):
        if info.offset % alignment:
            raise cursor.fail(f"tensor {info.name!r} has the offset {info.offset}, not a multiple of {alignment}")
        if info.offset + info.nbytes > room:
            raise cursor.fail(
                f"tensor {info.name!r} needs {info.nbytes} bytes at offset {info.offset} of the data section, "
                f"which has {max(room, 0)}: the file is cut off or damaged"
            )
        if info.offset < end:
            raise cursor.fail(f"tensors {before!r} and {info.name!r} overlap")
        end, before = info.offset + info.nbytes, info.name
