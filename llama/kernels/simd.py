"""The primitives that kernels are written with, as LLVM instructions: vectors of 16 floats and of 64 bytes.

Every function takes an LLVM builder first and emits code. Only `dot` differs between kernel sets; everything else is
plain LLVM, which splits a vector into as many registers as the processor needs.
"""

import math
import struct
from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from llama.kernels import detect

LANES = 16
I8, I16, I32, I64 = ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.IntType(64)
F32, HALF = ir.FloatType(), ir.HalfType()
FLOATS, INTS, HALVES = ir.VectorType(F32, LANES), ir.VectorType(I32, LANES), ir.VectorType(HALF, LANES)
BYTES = ir.VectorType(I8, 64)
WORDS = ir.VectorType(I16, 32)


def number(value: int) -> Any:
    """A 64-bit constant."""
    return ir.Constant(I64, value)


def every(kind: Any, value: float) -> Any:
    """A constant vector (or scalar) of one value."""
    return ir.Constant(kind, [value] * kind.count if isinstance(kind, ir.VectorType) else value)


def function(b: Any, name: str, result: Any, *params: Any) -> Any:
    """An LLVM intrinsic, declared once a module."""
    found = b.module.globals.get(name)
    return found or ir.Function(b.module, ir.FunctionType(result, params), name)


def pointer(b: Any, address: Any, kind: Any) -> Any:
    """An address as a pointer to `kind`."""
    return b.inttoptr(address, kind.as_pointer())


def load(b: Any, address: Any, kind: Any, align: int = 1) -> Any:
    """What lies at `address`."""
    value = b.load(pointer(b, address, kind))
    value.align = align
    return value


def store(b: Any, address: Any, value: Any, align: int = 1) -> None:
    """Put `value` at `address`."""
    b.store(value, pointer(b, address, value.type)).align = align


def prefetch(b: Any, address: Any) -> None:
    """Ask for the cache line at an address that will be read soon."""
    byte = pointer(b, address, I8)
    f = b.module.globals.get("llvm.prefetch.p0") or ir.Function(
        b.module, ir.FunctionType(ir.VoidType(), [byte.type, I32, I32, I32]), "llvm.prefetch.p0"
    )
    b.call(f, [byte, *(ir.Constant(I32, v) for v in (0, 3, 1))])


def at(b: Any, address: Any, offset: int) -> Any:
    """address + offset."""
    return b.add(address, number(offset)) if offset else address


def splat(b: Any, value: Any, count: int = LANES) -> Any:
    """A vector of `count` copies."""
    kind = ir.VectorType(value.type, count)
    one = b.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(I32, 0))
    return b.shuffle_vector(one, one, ir.Constant(ir.VectorType(I32, count), [0] * count))


def like(kind: Any, element: Any) -> Any:
    """`element` type in the shape of `kind`."""
    return ir.VectorType(element, kind.count) if isinstance(kind, ir.VectorType) else element


def suffix(kind: Any) -> str:
    """How LLVM's overloaded intrinsics spell a type."""
    element = kind.element if isinstance(kind, ir.VectorType) else kind
    name = f"i{element.width}" if isinstance(element, ir.IntType) else "f32"
    return f"v{kind.count}{name}" if isinstance(kind, ir.VectorType) else name


def call(b: Any, name: str, *args: Any) -> Any:
    """An overloaded LLVM intrinsic whose arguments and result have one type."""
    kind = args[0].type
    return b.call(function(b, f"llvm.{name}.{suffix(kind)}", kind, *[kind] * len(args)), args)


def fma(b: Any, x: Any, y: Any, z: Any) -> Any:
    """x * y + z, rounded once where the processor can."""
    return call(b, "fma", x, y, z) if detect.has_fma() else b.fadd(b.fmul(x, y), z)


def shuffled(b: Any, v: Any, order: Sequence[int]) -> Any:
    """Lanes `order` of v."""
    return b.shuffle_vector(v, v, ir.Constant(ir.VectorType(I32, len(order)), list(order)))


def total(b: Any, v: Any) -> Any:
    """Sum of the lanes of a float vector, halves first: always in the same order."""
    while isinstance(v.type, ir.VectorType):
        half = v.type.count // 2
        low, high = shuffled(b, v, range(half)), shuffled(b, v, range(half, 2 * half))
        if half == 1:
            zero = ir.Constant(I32, 0)
            return b.fadd(b.extract_element(low, zero), b.extract_element(high, zero))
        v = b.fadd(low, high)
    return v


def int_total(b: Any, v: Any) -> Any:
    """Sum of the lanes of an integer vector."""
    return b.call(function(b, f"llvm.vector.reduce.add.{suffix(v.type)}", v.type.element, v.type), [v])


def largest(b: Any, v: Any) -> Any:
    """The largest lane of a float vector, halved again and again: LLVM's own reduction goes lane by lane.

    A lane that is not a number loses to, or spreads over, the lanes that it meets.
    """
    count = v.type.count
    while count > 1:
        count //= 2
        v = at_least(b, shuffled(b, v, range(count)), shuffled(b, v, range(count, 2 * count)))
    return b.extract_element(v, ir.Constant(I32, 0))


def from_half(b: Any, v: Any) -> Any:
    """16-bit floats (as such) -> 32-bit floats."""
    kind = like(v.type, F32)
    if detect.has_half():
        return b.fpext(v, kind)
    ints = like(v.type, I32)
    bits = b.zext(b.bitcast(v, like(v.type, I16)), ints)
    magnitude = b.bitcast(b.shl(b.and_(bits, every(ints, 0x7FFF)), every(ints, 13)), kind)
    value = b.bitcast(b.fmul(magnitude, every(kind, 2.0**112)), ints)
    sign = b.shl(b.and_(bits, every(ints, 0x8000)), every(ints, 16))
    return b.bitcast(b.or_(value, sign), kind)


def to_half(b: Any, v: Any) -> Any:
    """32-bit floats -> 16-bit floats, those out of range become the largest finite one."""
    kind, most = v.type, every(v.type, 65504.0)
    v = at_least(b, at_most(b, v, most), b.fneg(most))
    if detect.has_half():
        return b.fptrunc(v, like(kind, HALF))
    ints = like(kind, I32)
    bits = b.bitcast(v, ints)
    small = b.bitcast(b.fmul(b.bitcast(b.and_(bits, every(ints, 0x7FFFFFFF)), kind), every(kind, 2.0**-112)), ints)
    odd = b.and_(b.lshr(small, every(ints, 13)), every(ints, 1))
    rounded = b.lshr(b.add(b.add(small, every(ints, 0xFFF)), odd), every(ints, 13))
    sign = b.and_(b.lshr(bits, every(ints, 16)), every(ints, 0x8000))
    return b.bitcast(b.trunc(b.or_(rounded, sign), like(kind, I16)), like(kind, HALF))


def from_brain(b: Any, v: Any) -> Any:
    """bfloat16 bits -> 32-bit floats."""
    ints = like(v.type, I32)
    return b.bitcast(b.shl(b.zext(v, ints), every(ints, 16)), like(v.type, F32))


def at_most(b: Any, x: Any, bound: Any) -> Any:
    """The smaller of two; `bound` where x is not a number. One instruction, unlike minnum."""
    return b.select(b.fcmp_ordered("<", x, bound), x, bound)


def at_least(b: Any, x: Any, bound: Any) -> Any:
    """The larger of two; `bound` where x is not a number."""
    return b.select(b.fcmp_ordered(">", x, bound), x, bound)


def exp(b: Any, x: Any) -> Any:
    """e to the x, within 2 units in the last place; exactly 0 below -87, held at e^88 above 88."""
    kind, ints = x.type, like(x.type, I32)
    held = at_most(b, x, every(kind, 88.0))
    shift = every(kind, 12582912.0)  # 1.5 * 2^23: adding it rounds to an integer and leaves that in the low bits
    shifted = fma(b, held, every(kind, single(1 / math.log(2))), shift)
    n = b.fsub(shifted, shift)
    r = fma(b, n, every(kind, -0.693359375), held)  # ln 2 in two parts, the first with few bits (Cephes)
    r = fma(b, n, every(kind, single(2.12194440e-4)), r)
    y = every(kind, single(1 / 720))
    for k in (120, 24, 6, 2, 1, 1):
        y = fma(b, y, r, every(kind, single(1 / k)))
    power = b.shl(b.bitcast(shifted, ints), every(ints, 23))
    value = b.bitcast(b.add(b.bitcast(y, ints), power), kind)
    return b.select(b.fcmp_ordered(">", x, every(kind, -87.0)), value, every(kind, 0.0))


def exp_wide(b: Any, x: Any) -> Any:
    """e to the x over the whole range: infinite above 88.7, through half powers near the ends."""
    half = exp(b, b.fmul(x, every(x.type, 0.5)))
    far = b.fcmp_ordered(">", call(b, "fabs", x), every(x.type, 86.0))
    return b.select(far, b.fmul(half, half), exp(b, x))


def sigmoid(b: Any, x: Any) -> Any:
    """1 / (1 + e^-x)."""
    one = every(x.type, 1.0)
    return b.fdiv(one, b.fadd(one, exp(b, b.fneg(x))))


def tanh(b: Any, x: Any) -> Any:
    """Hyperbolic tangent: 1 - 2 / (1 + e^2x), and its series near 0 where that would cancel."""
    kind = x.type
    one, two = every(kind, 1.0), every(kind, 2.0)
    far = b.fsub(one, b.fdiv(two, b.fadd(one, exp(b, b.fmul(x, two)))))
    square = b.fmul(x, x)
    series = every(kind, single(-17 / 315))
    for c in (2 / 15, -1 / 3, 1.0):
        series = fma(b, series, square, every(kind, single(c)))
    return b.select(b.fcmp_ordered("<", square, every(kind, single(0.01))), b.fmul(series, x), far)


def single(value: float) -> float:
    """The nearest 32-bit float: LLVM wants constants exact."""
    return float(struct.unpack("f", struct.pack("f", value))[0])
