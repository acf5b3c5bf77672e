"""The innermost matrix kernels: 16 rows of a packed matrix times a few tokens, emitted for a layout and a kernel set.

A quantised row of activations of K columns is K int8, then for each block of 32 four floats: the step d, and d times
the sum of the codes of the first half, of the second half, of all. Each token's sum runs over the blocks in order,
by the same operations whatever the number of tokens in the tile: that is what makes results independent of the batch.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import types

from llama.kernels import simd
from llama.kernels.dot import SETS
from llama.kernels.layout import BLOCK, GROUP, Layout
from llama.kernels.simd import BYTES, F32, FLOATS, HALVES, I16, I32, I64, INTS, WORDS, every, number
from llama.kernels.vectors import emitted

AHEAD = 4096  # how many bytes before their use weights are asked for: cores guess too late across pages
SIDE = 16  # bytes of the floats that go with a block of activations
i64, void = types.int64, types.void


def loop(b: Any, count: Any, start: list[Any], body: Callable[[Any, list[Any]], list[Any]]) -> list[Any]:
    """Emit `for i in range(count): values = body(i, values)`; count is at least 1. Returns the last values."""
    before = b.block
    inside, after = b.append_basic_block("loop"), b.append_basic_block("done")
    b.branch(inside)
    b.position_at_end(inside)
    i = b.phi(I64)
    i.add_incoming(number(0), before)
    carried = []
    for value in start:
        phi = b.phi(value.type)
        phi.add_incoming(value, before)
        carried.append(phi)
    made = body(i, carried)
    end = b.block
    following = b.add(i, number(1))
    i.add_incoming(following, end)
    for phi, value in zip(carried, made, strict=True):
        phi.add_incoming(value, end)
    b.cbranch(b.icmp_signed("<", following, count), inside, after)
    b.position_at_end(after)
    return made


def unpacked(b: Any, layout: Layout, address: Any) -> list[Any]:
    """The 8 code vectors of the block at `address`."""
    vectors: list[Any] = [None] * 8
    for width, place in layout.planes:
        mask = every(BYTES, ((1 << width) - 1) << place)
        for i in range(width):
            plane = simd.load(b, address, BYTES, 64)
            address = simd.at(b, address, 64)
            for s in range(8 // width):
                j = 8 // width * i + s
                bits = plane if width == 8 else b.and_(_moved(b, plane, place - s * width), mask)
                vectors[j] = bits if vectors[j] is None else b.or_(vectors[j], bits)
    return vectors


def _moved(b: Any, v: Any, left: int) -> Any:
    """Every byte shifted, as 16-bit words: the strays are masked away by the caller."""
    if left == 0:
        return v
    words, by = b.bitcast(v, WORDS), every(WORDS, abs(left))
    return b.bitcast(b.shl(words, by) if left > 0 else b.lshr(words, by), BYTES)


def finish(b: Any, sums: list[Any], out: Any, stride: Any, bias: Any, residual: Any, residual_stride: Any) -> None:
    """Write 16 columns for each token: sums, + bias and + residual where their addresses are not 0."""
    zero = every(FLOATS, 0.0)
    with b.if_else(b.icmp_signed("!=", bias, number(0))) as (given, absent):
        with given:
            loaded, from_given = simd.load(b, bias, FLOATS, 4), b.block
        with absent:
            from_absent = b.block
    offset = b.phi(FLOATS)
    offset.add_incoming(loaded, from_given)
    offset.add_incoming(zero, from_absent)
    sums = [b.fadd(value, offset) for value in sums]
    with b.if_else(b.icmp_signed("!=", residual, number(0))) as (given, absent):
        with given:
            for t, value in enumerate(sums):
                old = simd.load(b, b.add(residual, b.mul(number(t), residual_stride)), FLOATS, 4)
                simd.store(b, b.add(out, b.mul(number(t), stride)), b.fadd(old, value), 4)
        with absent:
            for t, value in enumerate(sums):
                simd.store(b, b.add(out, b.mul(number(t), stride)), value, 4)


@cache
def code_tile(kernel_set: str, layout: Layout, tokens: int) -> Any:
    """Compiled-code function: 16 rows of codes times `tokens` quantised rows."""
    isa = SETS[kernel_set]
    wide = layout.bits == 8
    zero = layout.zero - 128 if wide and isa.signed_codes else layout.zero
    parts = BLOCK // layout.sub
    per_part = 8 // parts

    def scales(b: Any, address: Any) -> tuple[list[Any], list[Any]]:
        """Scales and minima of a block's parts."""
        d = [simd.from_half(b, simd.load(b, simd.at(b, address, 32 * h), HALVES, 32)) for h in range(parts)]
        if layout.minimum:
            base = simd.at(b, address, 32 * parts)
            return d, [simd.from_half(b, simd.load(b, simd.at(b, base, 32 * h), HALVES, 32)) for h in range(parts)]
        return d, [b.fmul(each, every(FLOATS, -float(zero))) if zero else None for each in d]

    @emitted(void, *[i64] * 10)
    def tile(
        b: Any,
        w: Any,
        s: Any,
        x: Any,
        stride: Any,
        blocks: Any,
        out: Any,
        out_stride: Any,
        bias: Any,
        res: Any,
        rs: Any,
    ) -> None:
        rows = [b.add(x, b.mul(number(t), stride)) for t in range(tokens)]
        side = b.mul(blocks, number(BLOCK))

        def block(i: Any, sums: list[Any]) -> list[Any]:
            place = b.add(w, b.mul(i, number(layout.code_bytes)))
            for line in range(0, layout.code_bytes, 64):
                simd.prefetch(b, simd.at(b, place, AHEAD + line))
            codes = unpacked(b, layout, place)
            d, m = scales(b, b.add(s, b.mul(i, number(layout.scale_bytes))))
            made = []
            for row, total in zip(rows, sums, strict=True):
                start = b.add(row, b.mul(i, number(BLOCK)))
                floats = b.add(b.add(row, side), b.mul(i, number(SIDE)))
                step = simd.splat(b, simd.load(b, floats, F32, 4))
                for h in range(parts):
                    ints = every(INTS, 0)
                    for j in range(h * per_part, (h + 1) * per_part):
                        ints = isa.dot(b, ints, codes[j], simd.load(b, simd.at(b, start, 4 * j), I32, 4), wide)
                    total = simd.fma(b, b.fmul(d[h], step), b.sitofp(ints, FLOATS), total)
                    if m[h] is not None:
                        which = 4 * (h + 1) if parts == 2 else 12
                        share = simd.splat(b, simd.load(b, simd.at(b, floats, which), F32, 4))
                        total = simd.fma(b, m[h], share, total)
                made.append(total)
            return made

        sums = loop(b, blocks, [every(FLOATS, 0.0)] * tokens, block)
        finish(b, sums, out, out_stride, bias, res, rs)

    return tile


@cache
def float_tile(layout: Layout, tokens: int, groups: int = 1) -> Any:
    """Compiled-code function: `groups` times 16 rows of floats, `s` bytes apart, times `tokens` float rows.

    With two groups an activation that was loaded is used twice: loads, not products, are what one group waits for.
    """

    def column(b: Any, address: Any) -> Any:
        if layout.bits == 32:
            return simd.load(b, address, FLOATS, 4)
        if layout.brain:
            return simd.from_brain(b, simd.load(b, address, simd.like(FLOATS, I16), 2))
        return simd.from_half(b, simd.load(b, address, HALVES, 2))

    @emitted(void, *[i64] * 10)
    def tile(
        b: Any,
        w: Any,
        s: Any,
        x: Any,
        stride: Any,
        columns: Any,
        out: Any,
        out_stride: Any,
        bias: Any,
        res: Any,
        rs: Any,
    ) -> None:
        rows = [b.add(x, b.mul(number(t), stride)) for t in range(tokens)]

        def step(i: Any, sums: list[Any]) -> list[Any]:
            weights = []
            for g in range(groups):
                place = b.add(b.add(w, b.mul(number(g), s)), b.mul(i, number(layout.code_bytes)))
                simd.prefetch(b, simd.at(b, place, AHEAD))
                weights.append(column(b, place))
            offset = b.mul(i, number(4))
            values = [simd.splat(b, simd.load(b, b.add(row, offset), F32, 4)) for row in rows]
            return [
                simd.fma(b, weights[g], value, sums[g * tokens + t])
                for g in range(groups)
                for t, value in enumerate(values)
            ]

        sums = loop(b, columns, [every(FLOATS, 0.0)] * (groups * tokens), step)
        for g in range(groups):
            offset = 4 * GROUP * g
            mine = sums[g * tokens : (g + 1) * tokens]
            finish(b, mine, simd.at(b, out, offset), out_stride, _later(b, bias, offset), _later(b, res, offset), rs)

    return tile


def _later(b: Any, address: Any, offset: int) -> Any:
    """address + offset, but 0 stays 0."""
    return b.select(b.icmp_signed("!=", address, number(0)), simd.at(b, address, offset), number(0))


@cache
def quantise_block(halves: bool) -> Any:
    """Compiled-code function: 32 floats -> 32 int8 and their side floats, the sums of halves only where asked for.

    Codes are rounded as in llama.cpp's Q8_0, but the step stays a 32-bit float.
    """

    @emitted(void, i64, i64, i64)
    def quantise(b: Any, x: Any, codes: Any, side: Any) -> None:
        parts = [simd.load(b, simd.at(b, x, 64 * h), FLOATS, 4) for h in range(2)]
        most = simd.largest(b, simd.at_least(b, *[simd.call(b, "fabs", part) for part in parts]))
        step = b.fmul(most, every(F32, simd.single(1 / 127)))
        some = b.fcmp_ordered(">", most, every(F32, 0.0))
        inverse = simd.splat(b, b.select(some, b.fdiv(every(F32, 127.0), most), every(F32, 0.0)))
        ints = [b.fptosi(simd.call(b, "rint", b.fmul(part, inverse)), INTS) for part in parts]
        for h, values in enumerate(ints):
            simd.store(b, simd.at(b, codes, GROUP * h), b.trunc(values, simd.like(INTS, simd.I8)), 16)
        if halves:
            sums = [simd.int_total(b, values) for values in ints]
            for h, value in enumerate(sums):
                simd.store(b, simd.at(b, side, 4 * (h + 1)), b.fmul(step, b.sitofp(value, F32)), 4)
            whole = b.add(*sums)
        else:
            whole = simd.int_total(b, b.add(*ints))
        simd.store(b, simd.at(b, side, 12), b.fmul(step, b.sitofp(whole, F32)), 4)
        simd.store(b, side, step, 4)

    return quantise
