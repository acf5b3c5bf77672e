"""The one primitive that differs between kernel sets: sums of four products of bytes.

dot(b, sums, codes, x): sums (16 int32) + four products a lane of codes (64 bytes) and x (one int32 of four int8,
the same for all lanes). `signed_codes` says how a kernel set wants 8-bit codes: as int8, or (VNNI) as uint8, 128 more.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from llama.kernels.simd import BYTES, I8, I16, I32, INTS, every, function, shuffled, splat

Dot = Callable[[Any, Any, Any, Any, bool], Any]


@dataclass(frozen=True, slots=True)
class KernelSet:
    """A name, its dot product, and whether 8-bit codes are kept signed."""

    name: str
    dot: Dot
    signed_codes: bool


def _vnni512(b: Any, sums: Any, codes: Any, x: Any, wide: bool) -> Any:
    f = function(b, "llvm.x86.avx512.vpdpbusd.512", INTS, INTS, BYTES, BYTES)
    return b.call(f, [sums, codes, b.bitcast(splat(b, x), BYTES)])


def _halves(b: Any, v: Any) -> tuple[Any, Any]:
    half = v.type.count // 2
    return shuffled(b, v, range(half)), shuffled(b, v, range(half, 2 * half))


def _joined(b: Any, low: Any, high: Any) -> Any:
    count = 2 * low.type.count
    return b.shuffle_vector(low, high, ir.Constant(ir.VectorType(I32, count), list(range(count))))


def _vnni256(b: Any, sums: Any, codes: Any, x: Any, wide: bool) -> Any:
    ints, octets = ir.VectorType(I32, 8), ir.VectorType(I8, 32)
    f = function(b, "llvm.x86.avx512.vpdpbusd.256", ints, ints, octets, octets)
    spread = b.bitcast(splat(b, x, 8), octets)
    parts = [b.call(f, [s, c, spread]) for s, c in zip(_halves(b, sums), _halves(b, codes), strict=True)]
    return _joined(b, *parts)


def _avx2(b: Any, sums: Any, codes: Any, x: Any, wide: bool) -> Any:
    """Pairs of products in 16 bits: with 8-bit codes they would saturate, so |codes| meets x with the codes' signs."""
    octets, words, ints = ir.VectorType(I8, 32), ir.VectorType(I16, 16), ir.VectorType(I32, 8)
    pairs = function(b, "llvm.x86.avx2.pmadd.ub.sw", words, octets, octets)
    fours = function(b, "llvm.x86.avx2.pmadd.wd", ints, words, words)
    sign = function(b, "llvm.x86.avx2.psign.b", octets, octets, octets)
    spread = b.bitcast(splat(b, x, 8), octets)
    parts = []
    for s, c in zip(_halves(b, sums), _halves(b, codes), strict=True):
        magnitude, factor = (b.call(sign, [c, c]), b.call(sign, [spread, c])) if wide else (c, spread)
        products = b.call(pairs, [magnitude, factor])
        parts.append(b.add(s, b.call(fours, [products, every(words, 1)])))
    return _joined(b, *parts)


def _neon(b: Any, sums: Any, codes: Any, x: Any, wide: bool) -> Any:
    ints, octets = ir.VectorType(I32, 4), ir.VectorType(I8, 16)
    f = function(b, "llvm.aarch64.neon.sdot.v4i32.v16i8", ints, ints, octets, octets)
    spread = b.bitcast(splat(b, x, 4), octets)
    quarters = [q for half in _halves(b, sums) for q in _halves(b, half)]
    pieces = [q for half in _halves(b, codes) for q in _halves(b, half)]
    done = [b.call(f, [s, c, spread]) for s, c in zip(quarters, pieces, strict=True)]
    return _joined(b, _joined(b, done[0], done[1]), _joined(b, done[2], done[3]))


def _plain(b: Any, sums: Any, codes: Any, x: Any, wide: bool) -> Any:
    """Four 32-bit multiplications: works everywhere."""
    lanes, spread = b.bitcast(codes, INTS), splat(b, x)
    for place in range(4):
        up, down = every(INTS, 24 - 8 * place), every(INTS, 24)
        sums = b.add(sums, b.mul(b.ashr(b.shl(lanes, up), down), b.ashr(b.shl(spread, up), down)))
    return sums


SETS = {
    "avx512-vnni": KernelSet("avx512-vnni", _vnni512, signed_codes=False),
    "avx2-vnni": KernelSet("avx2-vnni", _vnni256, signed_codes=False),
    "avx2": KernelSet("avx2", _avx2, signed_codes=True),
    "neon-dotprod": KernelSet("neon-dotprod", _neon, signed_codes=True),
    "llvm": KernelSet("llvm", _plain, signed_codes=True),
}
