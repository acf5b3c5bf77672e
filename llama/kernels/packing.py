"""Packs weights: reads a GGUF tensor out of the memory map, writes one of our layouts. Compiled, on all threads."""

import mmap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType as T
from numba import njit
from numpy.typing import NDArray

from llama.kernels.atomics import claim
from llama.kernels.codecache import Compiler
from llama.kernels.formats import UNPACKERS, from_units
from llama.kernels.layout import BLOCK, FLOAT32, GROUP, Layout, layout_of
from llama.kernels.memory import Memory
from llama.kernels.tensor import Tensor
from llama.kernels.threads import ARGS, ROW, Threads
from llama.kernels.units import UNITS
from llama.kernels.vectors import byte_at, float_at, int32_at, int_at, put_byte, put_half, put_word

CHUNK_BYTES = 32 << 20  # how much of a rare type is unpacked to floats at a time


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """Matrices of one tensor, packed: `count` of (rows, columns). Keeps the memory that the addresses point into."""

    layout: Layout
    count: int
    rows: int
    columns: int
    memory: Memory

    @property
    def codes(self) -> int:
        """Address of the codes of the first matrix."""
        return self.memory.address

    @property
    def code_stride(self) -> int:
        """Bytes of one matrix's codes."""
        return self.layout.sizes(self.rows, self.columns)[0]

    @property
    def scale_stride(self) -> int:
        """Bytes of one matrix's scales."""
        return self.layout.sizes(self.rows, self.columns)[1]

    @property
    def scales(self) -> int:
        """Address of the scales of the first matrix."""
        return self.memory.address + self.count * self.code_stride


@njit
def put_planes(codes: int, stride: int, out: int, bits: int) -> None:
    """A block of 16 rows of byte codes -> planes. Four columns of a row move as one 32-bit word."""
    for r in range(GROUP):
        source, target = codes + r * stride, out + 4 * r
        at = 0
        for width in (8, 4, 2, 1):
            if bits & width == 0:
                continue
            mask = 0x01010101 * ((1 << width) - 1)
            words = 8 // width
            for i in range(width):
                together = 0
                for s in range(words):
                    word = (int32_at(source + 4 * (words * i + s)) & 0xFFFFFFFF) >> at
                    together |= (word & mask) << (s * width)
                put_word(target, together)
                target += 64
            at += width


def _build_pack(layout: Layout, unpack: Callable[..., None], signed: bool) -> Callable[..., None]:
    """Pack whole groups. Row's arguments: source, row bytes, rows, columns, codes, scales, scratch, scratch bytes."""
    unpack_row = njit(unpack)
    bits, sub, minimum = layout.bits, layout.sub, layout.minimum
    code_bytes, scale_bytes, per_block = layout.code_bytes, layout.scale_bytes, BLOCK // layout.sub
    flip = 128 if bits == 8 and signed else 0

    @njit
    def put_scales(values: int, stride: int, out: int) -> None:
        for r in range(GROUP):
            for h in range(per_block):
                put_half(out + 2 * (GROUP * h + r), float_at(values + r * stride + 4 * h))

    def pack(args: int, context: int, thread: int, threads: int) -> None:
        source, row_bytes, rows, columns = int_at(args + 24), int_at(args + 32), int_at(args + 40), int_at(args + 48)
        codes_out, scales_out = int_at(args + 56), int_at(args + 64)
        codes = int_at(args + 72) + thread * int_at(args + 80)
        stride = columns // sub * 4
        scales = codes + GROUP * columns
        minima = scales + GROUP * stride
        blocks = columns // BLOCK
        while True:
            group = claim(args)
            if group * GROUP >= rows:
                break
            for r in range(GROUP):
                if group * GROUP + r < rows:
                    row = source + (group * GROUP + r) * row_bytes
                    unpack_row(row, columns, codes + r * columns, scales + r * stride, minima + r * stride)
                else:
                    clear(codes + r * columns, columns)
                    clear(scales + r * stride, stride)
                    clear(minima + r * stride, stride)
            if flip:
                for i in range(GROUP * columns):
                    put_byte(codes + i, byte_at(codes + i) ^ flip)
            for b in range(blocks):
                at = group * blocks + b
                put_planes(codes + b * BLOCK, columns, codes_out + at * code_bytes, bits)
                put_scales(scales + b * per_block * 4, stride, scales_out + at * scale_bytes)
                if minimum:
                    put_scales(minima + b * per_block * 4, stride, scales_out + at * scale_bytes + scale_bytes // 2)

    return pack


@njit
def clear(address: int, size: int) -> None:
    """Zero `size` bytes."""
    for i in range(size):
        put_byte(address + i, 0)


def _build_interleave(size: int) -> Callable[..., None]:
    """Rows of `size`-byte floats -> columns of 16 rows. Arguments: source, rows, columns, target."""

    def interleave(args: int, context: int, thread: int, threads: int) -> None:
        source, rows, columns, target = int_at(args + 24), int_at(args + 32), int_at(args + 40), int_at(args + 48)
        while True:
            group = claim(args)
            if group * GROUP >= rows:
                break
            out = target + group * GROUP * columns * size
            for r in range(min(GROUP, rows - group * GROUP)):
                row = source + (group * GROUP + r) * columns * size
                for c in range(columns):
                    for k in range(size):
                        put_byte(out + (c * GROUP + r) * size + k, byte_at(row + c * size + k))

    return interleave


def let_go(data: NDArray[np.uint8]) -> None:
    """Tell the system that we are done with these bytes of a file: they need not stay beside their packed copy.

    Only for read-only views of a memory map, where whatever is needed again is read again.
    """
    owner: Any = data
    while isinstance(owner, np.ndarray):
        owner = owner.base
    owner = owner.obj if isinstance(owner, memoryview) else owner
    if data.flags.writeable or not isinstance(owner, mmap.mmap) or not hasattr(mmap, "MADV_DONTNEED"):
        return
    first = data.ctypes.data - np.frombuffer(owner, np.uint8).ctypes.data
    start, end = -(-first // mmap.PAGESIZE) * mmap.PAGESIZE, (first + data.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE
    if start < end:
        owner.madvise(mmap.MADV_DONTNEED, start, end - start)


class Packer:
    """Packs tensors with some threads. `signed`: keep 8-bit codes as int8."""

    def __init__(self, threads: Threads, compiler: Compiler, *, signed: bool) -> None:
        self._threads, self._compiler, self.signed = threads, compiler, signed

    def pack(self, tensor: Tensor) -> Packed:
        """The packed matrices of a tensor (out, in) or (count, out, in); a vector counts as one row."""
        *lead, rows, columns = (1, *tensor.shape) if len(tensor.shape) == 1 else tensor.shape
        count = int(np.prod(lead)) if lead else 1
        layout = layout_of(tensor.type)
        if not layout.is_float and columns % BLOCK:
            layout = FLOAT32
        codes, scales = layout.sizes(rows, columns)
        packed = Packed(layout, count, rows, columns, Memory(count * (codes + scales)))
        data = np.ascontiguousarray(tensor.data).reshape(count, rows, -1)
        for i in range(count):
            part = Tensor(tensor.name, tensor.type, (rows, columns), data[i])
            self._pack_matrix(part, packed, packed.codes + i * codes, packed.scales + i * scales)
        let_go(tensor.data)
        return packed

    def _pack_matrix(self, tensor: Tensor, packed: Packed, codes: int, scales: int) -> None:
        layout = packed.layout
        if layout.is_float:
            values = tensor.data if layout.bits == 16 or tensor.type == T.F32 else tensor.floats()
            self._interleave(values, packed, codes)
        elif int(tensor.type) in UNPACKERS:
            name = f"{int(tensor.type)}"
            self._pack_rows(name, UNPACKERS[int(tensor.type)], tensor.data, packed, codes, scales)
        else:
            self._pack_rare(tensor, packed, codes, scales)

    def _pack_rare(self, tensor: Tensor, packed: Packed, codes: int, scales: int) -> None:
        """Through floats, some rows at a time."""
        layout, (rows, columns) = packed.layout, tensor.shape
        step = max(1, CHUNK_BYTES // (columns * 4 * GROUP)) * GROUP
        code_row, scale_row = (n // -(-rows // GROUP) for n in layout.sizes(rows, columns))
        unpack = from_units(layout.sub, layout.zero)
        for start in range(0, rows, step):
            part = tensor.rows(start, min(rows, start + step))
            units = UNITS[int(tensor.type)](part.data)
            values = np.ascontiguousarray(np.concatenate([part.floats(), units], axis=1))
            group = start // GROUP
            self._pack_rows(
                "units", unpack, values.view(np.uint8), packed, codes + group * code_row, scales + group * scale_row
            )

    def _pack_rows(
        self,
        name: str,
        unpack: Callable[..., None],
        data: NDArray[np.uint8],
        packed: Packed,
        codes: int,
        scales: int,
    ) -> None:
        layout, columns = packed.layout, packed.columns
        kernel = self._compiler.address(
            f"pack {name} {layout.name} {self.signed}", lambda: _build_pack(layout, unpack, self.signed)
        )
        size = GROUP * (columns + 2 * columns // layout.sub * 4) + 64
        scratch = Memory(size * self._threads.n)
        self._step(kernel, _address(data), data.shape[1], len(data), columns, codes, scales, scratch.address, size)

    def _interleave(self, values: NDArray[Any], packed: Packed, target: int) -> None:
        size = packed.layout.bits // 8
        kernel = self._compiler.address(f"interleave {size}", lambda: _build_interleave(size))
        self._step(kernel, _address(values), packed.rows, packed.columns, target)

    def _step(self, kernel: int, *args: int) -> None:
        table, counter = np.zeros((1, ROW), np.int64), np.zeros(1, np.int64)
        table[0, :ARGS] = kernel, 0, counter.ctypes.data
        table[0, ARGS : ARGS + len(args)] = args
        self._threads.run(table, 0)


def _address(values: NDArray[Any]) -> int:
    assert values.flags.c_contiguous
    return int(values.ctypes.data)
