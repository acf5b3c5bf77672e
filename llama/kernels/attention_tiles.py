"""Attention's innermost kernels: some query rows against one block of 32 cached positions, for each cache type.

A block of one key and value head: keys lie column by column (32 positions of one column side by side), values position
by position, columns padded to 16. q8_0 pads both to 32 columns and keeps a float16 step: for keys one a position and 32
columns, behind all codes; for values likewise. Per (row, position) columns are taken in order, per (row, column)
positions in order, so that results do not depend on how many rows are done together.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from numba import types

from llama.kernels import simd
from llama.kernels.simd import F32, FLOATS, HALF, HALVES, I8, number
from llama.kernels.tiles import loop
from llama.kernels.vectors import emitted

POSITIONS = 32  # of a cache block
i64, void = types.int64, types.void


@dataclass(frozen=True, slots=True)
class CacheType:
    """How keys or values are stored: "f16", "f32" or "q8_0"."""

    name: str

    @property
    def size(self) -> int:
        """Bytes of an element, q8_0's steps apart."""
        return {"f32": 4, "f16": 2, "q8_0": 1}[self.name]

    def padded(self, columns: int) -> int:
        """Columns that are stored."""
        unit = 32 if self.name == "q8_0" else 16
        return -(-columns // unit) * unit

    def head_bytes(self, columns: int) -> int:
        """Bytes of one head in a block: a multiple of 64."""
        width = self.padded(columns)
        steps = width // 32 * POSITIONS * 2 if self.name == "q8_0" else 0
        return width * POSITIONS * self.size + steps


def _elements(b: Any, kind: CacheType, address: Any) -> Any:
    """16 stored elements as floats, q8_0 without its step."""
    if kind.name == "f32":
        return simd.load(b, address, FLOATS, 4)
    if kind.name == "f16":
        return simd.from_half(b, simd.load(b, address, HALVES, 2))
    return b.sitofp(simd.load(b, address, simd.like(FLOATS, I8)), FLOATS)


@cache
def score_tile(kind: CacheType, rows: int) -> Any:
    """(q, q stride, keys, steps, columns, out, out stride, next keys): scores of `rows` queries with 32 positions."""

    @emitted(void, *[i64] * 8)
    def tile(
        b: Any, q: Any, stride: Any, keys: Any, steps: Any, columns: Any, out: Any, ostride: Any, ahead: Any
    ) -> None:
        queries = [b.add(q, b.mul(number(r), stride)) for r in range(rows)]

        def column(i: Any, sums: list[Any]) -> list[Any]:
            offset = b.mul(i, number(POSITIONS * kind.size))
            start = b.add(keys, offset)
            for line in range(0, POSITIONS * kind.size, 64):
                simd.prefetch(b, simd.at(b, b.add(ahead, offset), line))
            halves = [_elements(b, kind, simd.at(b, start, 16 * kind.size * h)) for h in range(2)]
            if kind.name == "q8_0":
                base = b.add(steps, b.mul(b.lshr(i, number(5)), number(2 * POSITIONS)))
                scales = [simd.from_half(b, simd.load(b, simd.at(b, base, 32 * h), HALVES, 2)) for h in range(2)]
                halves = [b.fmul(half, scale) for half, scale in zip(halves, scales, strict=True)]
            made = []
            for r, query in enumerate(queries):
                value = simd.splat(b, simd.load(b, b.add(query, b.mul(i, number(4))), F32, 4))
                made += [simd.fma(b, halves[h], value, sums[2 * r + h]) for h in range(2)]
            return made

        sums = loop(b, columns, [simd.every(FLOATS, 0.0)] * (2 * rows), column)
        for r in range(rows):
            target = b.add(out, b.mul(number(r), ostride))
            for h in range(2):
                simd.store(b, simd.at(b, target, 64 * h), sums[2 * r + h], 4)

    return tile


@cache
def value_tile(kind: CacheType, rows: int, vectors: int) -> Any:
    """out += weights @ values, for 32 positions and `vectors` times 16 columns.

    Arguments: weights, their stride, values, steps, row bytes, step bytes a row, out, its stride, next values.
    """

    @emitted(void, *[i64] * 9)
    def tile(
        b: Any,
        weights: Any,
        wstride: Any,
        values: Any,
        steps: Any,
        bytes_row: Any,
        steps_row: Any,
        out: Any,
        ostride: Any,
        ahead: Any,
    ) -> None:
        sources = [b.add(weights, b.mul(number(r), wstride)) for r in range(rows)]
        targets = [b.add(out, b.mul(number(r), ostride)) for r in range(rows)]

        def position(i: Any, sums: list[Any]) -> list[Any]:
            offset = b.mul(i, bytes_row)
            start = b.add(values, offset)
            for line in range(0, 16 * vectors * kind.size, 64):
                simd.prefetch(b, simd.at(b, b.add(ahead, offset), line))
            parts = [_elements(b, kind, simd.at(b, start, 16 * kind.size * c)) for c in range(vectors)]
            if kind.name == "q8_0":
                base = b.add(steps, b.mul(i, steps_row))
                for c in range(vectors):
                    step = simd.from_half(b, simd.load(b, simd.at(b, base, c // 2 * 2), HALF, 2))
                    parts[c] = b.fmul(parts[c], simd.splat(b, step))
            made = []
            for r, source in enumerate(sources):
                weight = simd.splat(b, simd.load(b, b.add(source, b.mul(i, number(4))), F32, 4))
                made += [simd.fma(b, parts[c], weight, sums[r * vectors + c]) for c in range(vectors)]
            return made

        start = [simd.load(b, simd.at(b, target, 64 * c), FLOATS, 4) for target in targets for c in range(vectors)]
        sums = loop(b, number(POSITIONS), start, position)
        for r, target in enumerate(targets):
            for c in range(vectors):
                simd.store(b, simd.at(b, target, 64 * c), sums[r * vectors + c], 4)

    return tile
