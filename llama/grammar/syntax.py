"""The syntax tree of a grammar: what GBNF says, before it becomes rules over bytes."""

from dataclasses import dataclass, field

Ranges = tuple[tuple[int, int], ...]
"""Code points as sorted, disjoint, inclusive ranges."""

LAST_CODE_POINT = 0x10FFFF
ANY: Ranges = ((0, 0xD7FF), (0xE000, LAST_CODE_POINT))


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """These bytes, one after another."""

    text: bytes


@dataclass(frozen=True, slots=True, eq=False)
class Class:
    """One code point out of `ranges`."""

    ranges: Ranges


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """Another rule; `offset` is where it was named, for error messages."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class OneToken:
    """One whole token: `name` is `<text>` or `<[id]>`. Negated: any one token but that."""

    name: str
    negated: bool
    offset: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Sequence:
    """All of them, in order; an empty sequence matches nothing at all, at once."""

    items: tuple["Expression", ...]


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """One of them."""

    options: tuple["Expression", ...]


@dataclass(frozen=True, slots=True, eq=False)
class Repeat:
    """`item` at least `low` times and at most `high`; None: without an upper bound."""

    item: "Expression"
    low: int
    high: int | None


Expression = Literal | Class | Reference | OneToken | Sequence | Choice | Repeat


@dataclass(frozen=True, slots=True, eq=False)
class Grammar:
    """Rules by name, in the order of the text, which is kept for error messages."""

    rules: dict[str, Expression] = field(repr=False)
    text: str = ""


def normalised(ranges: list[tuple[int, int]]) -> Ranges:
    """`ranges` sorted and merged, without the surrogates, which no UTF-8 text can hold."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return intersection(tuple(merged), ANY)


def intersection(a: Ranges, b: Ranges) -> Ranges:
    """The code points that are in both."""
    found: list[tuple[int, int]] = []
    i = j = 0
    while i < len(a) and j < len(b):
        low, high = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if low <= high:
            found.append((low, high))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return tuple(found)


def complement(ranges: Ranges) -> Ranges:
    """All code points but these (`ranges` sorted and disjoint)."""
    gaps: list[tuple[int, int]] = []
    start = 0
    for low, high in ranges:
        if start < low:
            gaps.append((start, low - 1))
        start = high + 1
    if start <= LAST_CODE_POINT:
        gaps.append((start, LAST_CODE_POINT))
    return intersection(tuple(gaps), ANY)
