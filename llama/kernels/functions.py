"""Functions of one number, on vectors of 16: each emits LLVM for (builder, v)."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from llama.kernels import simd
from llama.kernels.simd import every, fma, like
from llama.kernels.vectors import emitted, f32, floats16

ROOT_HALF = math.sqrt(0.5)


def _const(v: Any, value: float) -> Any:
    return every(v.type, simd.single(value))


def silu(b: Any, v: Any) -> Any:
    return b.fdiv(v, b.fadd(_const(v, 1), simd.exp(b, b.fneg(v))))


def gelu(b: Any, v: Any) -> Any:
    """x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))."""
    cube = fma(b, b.fmul(v, _const(v, 0.044715)), b.fmul(v, v), v)
    t = simd.tanh(b, b.fmul(cube, _const(v, math.sqrt(2 / math.pi))))
    return b.fmul(b.fmul(v, _const(v, 0.5)), b.fadd(t, _const(v, 1)))


def gelu_quick(b: Any, v: Any) -> Any:
    return b.fmul(v, simd.sigmoid(b, b.fmul(v, _const(v, 1.702))))


def gelu_erf(b: Any, v: Any) -> Any:
    """x * Phi(x); erfc by a Chebyshev fit with relative error 1.2e-7 (Press et al., Numerical Recipes, 6.2)."""
    size = b.fmul(simd.call(b, "fabs", v), _const(v, ROOT_HALF))
    t = b.fdiv(_const(v, 1), fma(b, size, _const(v, 0.5), _const(v, 1)))
    series = _const(v, 0.17087277)
    terms = (
        -0.82215223,
        1.48851587,
        -1.13520398,
        0.27886807,
        -0.18628806,
        0.09678418,
        0.37409196,
        1.00002368,
        -1.26551223,
    )
    for c in terms:
        series = fma(b, series, t, _const(v, c))
    tail = b.fmul(t, simd.exp(b, b.fsub(series, b.fmul(size, size))))
    upper = b.fsub(_const(v, 2), tail)
    both = b.select(b.fcmp_ordered("<", v, _const(v, 0)), tail, upper)
    return b.fmul(b.fmul(v, _const(v, 0.5)), both)


def relu(b: Any, v: Any) -> Any:
    return simd.call(b, "maxnum", v, _const(v, 0))


def relu2(b: Any, v: Any) -> Any:
    positive = relu(b, v)
    return b.fmul(positive, positive)


def log(b: Any, v: Any) -> Any:
    """Natural logarithm of positive numbers: Cephes' logf polynomial on [sqrt(1/2), sqrt(2))."""
    ints = like(v.type, simd.I32)
    bits = b.bitcast(v, ints)
    exponent = b.sub(b.ashr(bits, every(ints, 23)), every(ints, 126))
    m = b.bitcast(b.or_(b.and_(bits, every(ints, 0x7FFFFF)), every(ints, 0x3F000000)), v.type)
    small = b.fcmp_ordered("<", m, _const(v, ROOT_HALF))
    e = b.sitofp(b.select(small, b.sub(exponent, every(ints, 1)), exponent), v.type)
    x = b.fsub(b.select(small, b.fadd(m, m), m), _const(v, 1))
    series = _const(v, 7.0376836292e-2)
    terms = (-1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1, 2.0000714765e-1)
    for c in (*terms, -2.4999993993e-1, 3.3333331174e-1):
        series = fma(b, series, x, _const(v, c))
    square = b.fmul(x, x)
    y = fma(b, b.fmul(series, x), square, b.fmul(e, _const(v, -2.12194440e-4)))
    y = fma(b, square, _const(v, -0.5), y)
    return fma(b, e, _const(v, 0.693359375), b.fadd(x, y))


def softplus(b: Any, v: Any) -> Any:
    """log(1 + e^x), x itself above 20."""
    u = simd.exp(b, v)
    near = fma(b, b.fmul(u, u), _const(v, -0.5), u)
    soft = b.select(b.fcmp_ordered("<", u, _const(v, 1e-4)), near, log(b, b.fadd(u, _const(v, 1))))
    return b.select(b.fcmp_ordered(">", v, _const(v, 20)), v, soft)


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "silu": silu,
    "gelu": gelu,
    "gelu_erf": gelu_erf,
    "gelu_quick": gelu_quick,
    "relu": relu,
    "relu2": relu2,
    "sigmoid": simd.sigmoid,
    "tanh": simd.tanh,
    "exp": simd.exp_wide,
    "softplus": softplus,
    "abs": lambda b, v: simd.call(b, "fabs", v),
    "sqrt": lambda b, v: simd.call(b, "sqrt", v),
    "neg": lambda b, v: b.fneg(v),
}
PAIRS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda b, x, y: b.fadd(x, y),
    "sub": lambda b, x, y: b.fsub(x, y),
    "mul": lambda b, x, y: b.fmul(x, y),
    "div": lambda b, x, y: b.fdiv(x, y),
    "max": lambda b, x, y: simd.call(b, "maxnum", x, y),
}


@cache
def vector_function(name: str) -> Any:
    """Compiled-code function of 16 floats."""

    @emitted(floats16, floats16)
    def apply(b: Any, v: Any) -> Any:
        return FUNCTIONS[name](b, v)

    return apply


@cache
def vector_pair(name: str) -> Any:
    """Compiled-code function of twice 16 floats."""

    @emitted(floats16, floats16, floats16)
    def apply(b: Any, x: Any, y: Any) -> Any:
        return PAIRS[name](b, x, y)

    return apply


@cache
def scalar_pair(name: str) -> Any:
    """Compiled-code function of two floats."""

    @emitted(f32, f32, f32)
    def apply(b: Any, x: Any, y: Any) -> Any:
        return PAIRS[name](b, x, y)

    return apply
