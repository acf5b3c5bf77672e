"""Reads an ECMA-262 regular expression into a syntax tree of code points.

Look-around, back-references and word boundaries are refused: no grammar can stand for them in general.
"""

import re
from dataclasses import dataclass

from llama.grammar.pattern.properties import property_ranges
from llama.grammar.syntax import LAST_CODE_POINT, Ranges, complement, normalised

MOST_NESTED = 200
LARGEST_COUNT = 1_000_000

DIGIT: Ranges = ((0x30, 0x39),)
WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
SPACE = normalised(
    [(9, 13), (0x2000, 0x200A), (0x2028, 0x2029)]
    + [(point, point) for point in (0x20, 0xA0, 0x1680, 0x202F, 0x205F, 0x3000, 0xFEFF)]
)
NOT_LINE_END = complement(normalised([(10, 10), (13, 13), (0x2028, 0x2029)]))
SHORTHANDS = {"d": DIGIT, "w": WORD, "s": SPACE, "D": complement(DIGIT), "W": complement(WORD), "S": complement(SPACE)}
CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "0": 0}
QUANTIFIER = re.compile(r"(?:([*+?])|\{([0-9]+)(,)?([0-9]+)?\})(\??)")
GROUP = re.compile(r"\((?:\?(?::|<([A-Za-z_$][\w$]*)>))?(?!\?)")


class PatternError(ValueError):
    """A regular expression that is broken, or that no grammar can stand for."""


@dataclass(frozen=True, slots=True)
class Points:
    """One code point out of `ranges`."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Anchor:
    """`^` (at_start) or `$`."""

    at_start: bool


@dataclass(frozen=True, slots=True)
class Chain:
    """All of them in order."""

    items: tuple["Pattern", ...]


@dataclass(frozen=True, slots=True)
class Either:
    """One of them."""

    options: tuple["Pattern", ...]


@dataclass(frozen=True, slots=True)
class Times:
    """`item` from `low` to `high` times; None: no upper bound."""

    item: "Pattern"
    low: int
    high: int | None


Pattern = Points | Anchor | Chain | Either | Times


def parse_pattern(text: str) -> Pattern:
    """The syntax tree of an ECMA-262 pattern. Raises PatternError with the place."""
    reader = _Reader(text)
    tree = reader.either(0)
    if reader.at < len(text):
        raise reader.error("`)` without its `(`")
    return tree


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def error(self, message: str) -> PatternError:
        return PatternError(f"{message}, at character {self.at + 1} of {self.text!r}")

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def either(self, depth: int) -> Pattern:
        if depth > MOST_NESTED:
            raise self.error(f"groups are nested more than {MOST_NESTED} deep")
        options = [self._chain(depth)]
        while self._peek() == "|":
            self.at += 1
            options.append(self._chain(depth))
        return options[0] if len(options) == 1 else Either(tuple(options))

    def _chain(self, depth: int) -> Pattern:
        items: list[Pattern] = []
        while self._peek() not in ("", "|", ")"):
            items.append(self._quantified(self._atom(depth)))
        return items[0] if len(items) == 1 else Chain(tuple(items))

    def _quantified(self, item: Pattern) -> Pattern:
        found = QUANTIFIER.match(self.text, self.at)
        if found is None:
            return item
        if isinstance(item, Anchor):
            raise self.error("an anchor cannot be repeated")
        sign, low, comma, high, _ = found.groups()
        if sign:
            bounds: tuple[int, int | None] = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        else:
            bounds = int(low), int(high) if high else None if comma else int(low)
        if bounds[1] is not None and bounds[1] < bounds[0]:
            raise self.error(f"the count {found[0]} has its bounds reversed")
        if max(bounds[0], bounds[1] or 0) > LARGEST_COUNT:
            raise self.error(f"the count {found[0]} is over {LARGEST_COUNT}")
        self.at = found.end()
        if QUANTIFIER.match(self.text, self.at):
            raise self.error("nothing to repeat")
        return Times(item, *bounds)

    def _atom(self, depth: int) -> Pattern:
        character = self._peek()
        if character == "(":
            return self._group(depth)
        if character in "*+?":
            raise self.error("nothing to repeat")
        self.at += 1
        if character == "[":
            return self._class()
        if character == ".":
            return Points(NOT_LINE_END)
        if character in "^$":
            return Anchor(character == "^")
        if character == "\\":
            return Points(self._escape(in_class=False))
        return Points(_one(self._surrogates(character)))

    def _group(self, depth: int) -> Pattern:
        found = GROUP.match(self.text, self.at)
        if found is None:
            kind = self.text[self.at : self.at + 4]
            raise self.error(f"`{kind}` is not supported (look-around and modifiers have no grammar)")
        self.at = found.end()
        inner = self.either(depth + 1)
        if self._peek() != ")":
            raise self.error("unclosed `(`")
        self.at += 1
        return inner

    def _surrogates(self, character: str) -> int:
        point = ord(character)
        if 0xD800 <= point <= 0xDFFF:
            raise self.error("a lone surrogate is not a character")
        return point

    def _escape(self, *, in_class: bool) -> Ranges:
        letter = self._peek()
        if not letter:
            raise self.error("a backslash at the end")
        self.at += 1
        if letter in SHORTHANDS:
            return SHORTHANDS[letter]
        if letter in "pP":
            return self._property(negated=letter == "P")
        if letter == "b" and in_class:
            return _one(8)
        if letter in "bB":
            raise self.error("a word boundary is not supported")
        if letter == "k" or (letter in "123456789" and not in_class):
            raise self.error("a back-reference is not supported")
        if letter in CONTROLS:
            return _one(CONTROLS[letter])
        return _one(self._coded(letter))

    def _coded(self, letter: str) -> int:
        """`\\xHH`, `\\uHHHH` (pairs too), `\\u{H...}`, `\\cX`, or the escaped character itself."""
        if letter == "c" and re.match("[A-Za-z]", self._peek()):
            self.at += 1
            return ord(self.text[self.at - 1]) % 32
        width = {"x": "{2}", "u": "{4}"}.get(letter)
        if width is None:
            if letter.isalnum() and letter.isascii():
                raise self.error(f"unknown escape \\{letter}")
            return ord(letter)
        found = re.compile(rf"([0-9A-Fa-f]{width})" + (r"|\{([0-9A-Fa-f]{1,6})\}" if letter == "u" else "")).match(
            self.text, self.at
        )
        if found is None:
            raise self.error(f"\\{letter} needs hexadecimal digits")
        self.at = found.end()
        point = int(found[found.lastindex or 1], 16)
        low = re.compile(r"\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})").match(self.text, self.at)
        if 0xD800 <= point <= 0xDBFF and low is not None:
            self.at = low.end()
            return 0x10000 + ((point - 0xD800) << 10) + int(low[1], 16) - 0xDC00
        if 0xD800 <= point <= 0xDFFF or point > LAST_CODE_POINT:
            raise self.error(f"U+{point:04X} is not a character")
        return point

    def _property(self, *, negated: bool) -> Ranges:
        found = re.compile(r"\{([^}]*)\}").match(self.text, self.at)
        ranges = None if found is None else property_ranges(found[1])
        if found is None or ranges is None:
            raise self.error("this Unicode property is not supported")
        self.at = found.end()
        return complement(ranges) if negated else ranges

    def _class(self) -> Pattern:
        negated = self._peek() == "^"
        self.at += negated
        ranges: list[tuple[int, int]] = []
        while self._peek() != "]":
            low = self._class_atom()
            if self._peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                high = self._class_atom()
                if len(low) != 1 or len(high) != 1 or low[0][0] != low[0][1] or high[0][0] != high[0][1]:
                    ranges += [*low, (0x2D, 0x2D), *high]
                elif high[0][0] < low[0][0]:
                    raise self.error("a range is reversed")
                else:
                    ranges.append((low[0][0], high[0][0]))
            else:
                ranges += low
        self.at += 1
        found = normalised(ranges)
        return Points(complement(found) if negated else found)

    def _class_atom(self) -> Ranges:
        character = self._peek()
        if not character:
            raise self.error("unclosed `[`")
        self.at += 1
        return self._escape(in_class=True) if character == "\\" else _one(self._surrogates(character))


def _one(point: int) -> Ranges:
    return ((point, point),)
