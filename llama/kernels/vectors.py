"""Memory and vectors of 16 floats as compiled (numba) functions see them: addresses are plain int64.

`Floats16` is a numba type; + - * / work between two of them. Everything here can only be called from compiled code.
"""

import inspect
import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.imputils import lower_builtin
from numba.core.typing import signature
from numba.core.typing.templates import ConcreteTemplate, infer_global
from numba.extending import intrinsic, models, register_model

from llama.kernels import simd
from llama.kernels.simd import F32, FLOATS, I8, I16, I32, I64, LANES

i64, f32, void = types.int64, types.float32, types.void


class Floats16Type(types.Type):
    """Sixteen 32-bit floats in a register."""

    def __init__(self) -> None:
        super().__init__("floats16")


floats16 = Floats16Type()


@register_model(Floats16Type)
class Floats16Model(models.PrimitiveModel):
    """How numba's generated code holds one: as an LLVM vector."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, FLOATS)


def _operator(op: Callable[[Any, Any], Any], instruction: str) -> None:
    @infer_global(op)
    class _Typing(ConcreteTemplate):
        key = op
        cases = [signature(floats16, floats16, floats16)]  # noqa: RUF012

    @lower_builtin(op, floats16, floats16)
    def _lower(context: Any, b: Any, sig: Any, args: Any) -> Any:
        return getattr(b, instruction)(*args)


_operator(operator.add, "fadd")
_operator(operator.sub, "fsub")
_operator(operator.mul, "fmul")
_operator(operator.truediv, "fdiv")


def emitted(result: Any, *params: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function of (builder, *LLVM values) so that compiled code can call it with numba values."""

    def wrap(emit: Callable[..., Any]) -> Any:
        def declare(typing: Any, *args: Any) -> Any:
            def lower(context: Any, b: Any, sig: Any, values: Any) -> Any:
                made = emit(b, *values)
                return context.get_dummy_value() if result is void else made

            return signature(result, *params), lower

        # numba folds arguments by the signature it sees, and a star would make them one tuple
        shape = inspect.signature(emit)
        declare.__signature__ = shape.replace(parameters=list(shape.parameters.values()))  # type: ignore[attr-defined]
        declare.__name__ = declare.__qualname__ = emit.__name__
        declare.__doc__ = emit.__doc__
        return intrinsic(declare)

    return wrap


# --- memory ---


@emitted(i64, i64)
def int_at(b: Any, address: Any) -> Any:
    """The int64 at an address."""
    return simd.load(b, address, I64, 8)


@emitted(void, i64, i64)
def put_int(b: Any, address: Any, value: Any) -> None:
    """Write an int64."""
    simd.store(b, address, value, 8)


@emitted(i64, i64)
def int32_at(b: Any, address: Any) -> Any:
    """The int32 at an address."""
    return b.sext(simd.load(b, address, I32, 4), I64)


@emitted(i64, i64)
def byte_at(b: Any, address: Any) -> Any:
    """The uint8 at an address."""
    return b.zext(simd.load(b, address, I8), I64)


@emitted(i64, i64)
def signed_byte_at(b: Any, address: Any) -> Any:
    """The int8 at an address."""
    return b.sext(simd.load(b, address, I8), I64)


@emitted(void, i64, i64)
def put_byte(b: Any, address: Any, value: Any) -> None:
    """Write the low 8 bits."""
    simd.store(b, address, b.trunc(value, I8))


@emitted(i64, i64)
def short_at(b: Any, address: Any) -> Any:
    """The uint16 at an address."""
    return b.zext(simd.load(b, address, I16), I64)


@emitted(void, i64, i64)
def put_word(b: Any, address: Any, value: Any) -> None:
    """Write the low 32 bits."""
    simd.store(b, address, b.trunc(value, I32))


@emitted(f32, i64)
def float_at(b: Any, address: Any) -> Any:
    """The float32 at an address."""
    return simd.load(b, address, F32, 4)


@emitted(void, i64, f32)
def put_float(b: Any, address: Any, value: Any) -> None:
    """Write a float32."""
    simd.store(b, address, value, 4)


@emitted(f32, i64)
def half_at(b: Any, address: Any) -> Any:
    """The float16 at an address, as float32."""
    return simd.from_half(b, simd.load(b, address, simd.HALF))


@emitted(void, i64, f32)
def put_half(b: Any, address: Any, value: Any) -> None:
    """Write a float32 as float16, held to the finite range."""
    simd.store(b, address, simd.to_half(b, value))


@emitted(f32, i64)
def bits_to_float(b: Any, bits: Any) -> Any:
    """The float32 whose bits are the low 32."""
    return b.bitcast(b.trunc(bits, I32), F32)


@emitted(i64, f32)
def rounded(b: Any, x: Any) -> Any:
    """Nearest integer, ties to even."""
    return b.fptosi(simd.call(b, "rint", x), I64)


# --- vectors ---


@emitted(floats16, i64)
def load16(b: Any, address: Any) -> Any:
    """16 floats from an address."""
    return simd.load(b, address, FLOATS, 4)


@emitted(void, i64, floats16)
def store16(b: Any, address: Any, v: Any) -> None:
    """16 floats to an address."""
    simd.store(b, address, v, 4)


def _first(b: Any, count: Any) -> Any:
    """A mask of the first `count` lanes."""
    index = ir.Constant(simd.INTS, list(range(LANES)))
    return b.icmp_signed("<", index, simd.splat(b, b.trunc(count, I32)))


@emitted(floats16, floats16, i64, f32)
def first_lanes(b: Any, v: Any, count: Any, other: Any) -> Any:
    """The first `count` lanes of v, `other` in the rest."""
    return b.select(_first(b, count), v, simd.splat(b, other))


@emitted(void, i64, floats16, i64)
def store_first(b: Any, address: Any, v: Any, count: Any) -> None:
    """Only the first `count` lanes to an address."""
    mask = _first(b, count)
    kind = ir.FunctionType(ir.VoidType(), [FLOATS, FLOATS.as_pointer(), I32, mask.type])
    name = "llvm.masked.store.v16f32.p0"
    f = b.module.globals.get(name) or ir.Function(b.module, kind, name)
    b.call(f, [v, simd.pointer(b, address, FLOATS), ir.Constant(I32, 4), mask])


@emitted(floats16, f32)
def all16(b: Any, value: Any) -> Any:
    """16 copies."""
    return simd.splat(b, value)


@emitted(floats16, floats16, floats16, floats16)
def fma16(b: Any, x: Any, y: Any, z: Any) -> Any:
    """x * y + z."""
    return simd.fma(b, x, y, z)


@emitted(floats16, floats16, floats16)
def max16(b: Any, x: Any, y: Any) -> Any:
    """The larger of each pair."""
    return simd.at_least(b, x, y)


@emitted(floats16, floats16, floats16)
def min16(b: Any, x: Any, y: Any) -> Any:
    """The smaller of each pair."""
    return simd.at_most(b, x, y)


@emitted(f32, floats16)
def sum16(b: Any, v: Any) -> Any:
    """Sum of the lanes, always in the same order."""
    return simd.total(b, v)


@emitted(f32, floats16)
def top16(b: Any, v: Any) -> Any:
    """The largest lane."""
    return simd.largest(b, v)


@emitted(floats16, floats16)
def exp16(b: Any, v: Any) -> Any:
    """e to the v."""
    return simd.exp(b, v)


@emitted(f32, f32)
def exp1(b: Any, x: Any) -> Any:
    """e to the x, the same bits as `exp16`."""
    return simd.exp(b, x)


@emitted(floats16, floats16)
def tanh16(b: Any, v: Any) -> Any:
    """Hyperbolic tangent."""
    return simd.tanh(b, v)
