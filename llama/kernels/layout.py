"""How packed weights lie in memory: a few layouts that every GGUF type maps to.

Rows are taken sixteen at a time (a group), columns 32 at a time (a block). Codes of a block come in 8 vectors of 64
bytes: vector j holds columns 4j .. 4j + 3 of 16 rows. Codes narrower than a byte are split into planes of 4, 2 and 1
bits; one 64-byte vector of the w-bit plane holds the bits of 8 / w code vectors. A weight is scale * (code - zero), or
scale * code + minimum where minima are stored. Scales and minima are float16, 16 rows side by side, one for `sub`
columns; they lie after all codes. Float layouts hold each column of 16 rows side by side.
"""

from dataclasses import dataclass

from gguf import GGMLQuantizationType as T

BLOCK = 32
GROUP = 16


@dataclass(frozen=True, slots=True)
class Layout:
    """One way to hold a matrix. `bits` 16 and 32 are floats (`brain`: bfloat16), fewer are codes."""

    bits: int
    sub: int = BLOCK
    minimum: bool = False
    zero: int = 0
    brain: bool = False

    @property
    def is_float(self) -> bool:
        return self.bits >= 16

    @property
    def name(self) -> str:
        """Tells layouts apart in the names of compiled kernels."""
        return f"{self.bits}b{self.sub}{'m' if self.minimum else ''}z{self.zero}{'brain' if self.brain else ''}"

    @property
    def planes(self) -> tuple[tuple[int, int], ...]:
        """(width, position of its lowest bit in the code) of each plane."""
        planes, at = [], 0
        for width in (8, 4, 2, 1):
            if self.bits & width:
                planes.append((width, at))
                at += width
        return tuple(planes)

    @property
    def code_bytes(self) -> int:
        """Bytes of a block's codes, 16 rows; of one column's floats in float layouts."""
        return GROUP * self.bits // 8 if self.is_float else 64 * self.bits

    @property
    def scale_bytes(self) -> int:
        """Bytes of a block's scales and minima, 16 rows."""
        return 0 if self.is_float else BLOCK // self.sub * 2 * GROUP * (2 if self.minimum else 1)

    def padded(self, columns: int) -> int:
        """How many columns are stored."""
        return columns if self.is_float else -(-columns // BLOCK) * BLOCK

    def sizes(self, rows: int, columns: int) -> tuple[int, int]:
        """Bytes of all codes and of all scales of a matrix."""
        groups, width = -(-rows // GROUP), self.padded(columns)
        steps = width if self.is_float else width // BLOCK
        return groups * steps * self.code_bytes, groups * steps * self.scale_bytes


LAYOUTS: dict[int, Layout] = {
    T.Q4_0: Layout(4, zero=8),
    T.Q4_1: Layout(4, minimum=True),
    T.Q5_0: Layout(5, zero=16),
    T.Q5_1: Layout(5, minimum=True),
    T.Q8_0: Layout(8, zero=128),
    T.Q2_K: Layout(2, sub=16, minimum=True),
    T.Q3_K: Layout(3, sub=16, zero=4),
    T.Q4_K: Layout(4, minimum=True),
    T.Q5_K: Layout(5, minimum=True),
    T.Q6_K: Layout(6, sub=16, zero=32),
    T.IQ4_NL: Layout(8, zero=128),
    T.IQ4_XS: Layout(8, zero=128),
    T.MXFP4: Layout(5, zero=12),
    T.NVFP4: Layout(5, sub=16, zero=12),
    T.TQ1_0: Layout(2, zero=1),
    T.TQ2_0: Layout(2, zero=1),
    T.Q8_K: Layout(8, zero=128),
    T.IQ2_XXS: Layout(8, zero=128),
    T.IQ2_XS: Layout(8, sub=16, zero=128),
    T.IQ2_S: Layout(8, sub=16, zero=128),
    T.IQ3_XXS: Layout(8, zero=128),
    T.IQ3_S: Layout(8, zero=128),
    T.IQ1_S: Layout(8, zero=128),
    T.IQ1_M: Layout(8, sub=16, zero=128),
    41: Layout(2, zero=1),  # Q1_0
    42: Layout(2, zero=1),  # Q2_0
    T.F16: Layout(16),
    T.BF16: Layout(16, brain=True),
}
FLOAT32 = Layout(32)


def layout_of(kind: int) -> Layout:
    """The layout for a GGML type; types not listed are held as 32-bit floats."""
    return LAYOUTS.get(int(kind), FLOAT32)
