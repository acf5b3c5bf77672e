"""Code points as GBNF, plainly or as they may stand inside a JSON string."""

import json
import re
from collections.abc import Iterable
from functools import lru_cache

from llama.grammar.syntax import Ranges, complement, intersection, normalised

SHORT_ESCAPES = {0x22: '"', 0x5C: "\\\\", 0x2F: "/", 8: "b", 12: "f", 10: "n", 13: "r", 9: "t"}
"""The letter after the backslash, as it is written in a GBNF class."""
MUST_ESCAPE: Ranges = ((0, 0x1F), (0x22, 0x22), (0x5C, 0x5C))
CODED: Ranges = ((0, 0x1F), (0x7F, 0xD7FF), (0xE000, 0xFFFF))
"""What may be written as \\uXXXX: ASCII that can be printed is not, so that a key has few spellings."""

PRINTABLE = frozenset(map(chr, range(0x20, 0x7F)))
RUNS = re.compile(r"[ -~]+|[^ -~]+")

UnitRange = tuple[int, int]


def quoted(text: str) -> str:
    """`text` as a GBNF literal."""
    return '"' + "".join(_literal_character(character) for character in text) + '"'


def _literal_character(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    return character if character.isprintable() else _escaped(ord(character))


def _escaped(point: int) -> str:
    if point < 0x80:
        return {9: "\\t", 10: "\\n", 13: "\\r"}.get(point, f"\\x{point:02X}")
    return f"\\u{point:04X}" if point <= 0xFFFF else f"\\U{point:08X}"


def _class_character(point: int) -> str:
    if chr(point) in "\\]-[":
        return "\\" + chr(point)
    if chr(point) == "^" or point > 0x7E or point < 0x20:
        return _escaped(point)
    return chr(point)


def class_text(ranges: Ranges) -> str:
    """A GBNF class of these code points; negated when that is shorter."""
    others = complement(ranges)
    if not others:
        return "."
    negated = len(others) < len(ranges)
    shown = others if negated else ranges
    parts = [
        _class_character(low) if low == high else f"{_class_character(low)}-{_class_character(high)}"
        for low, high in shown
    ]
    return f"[{'^' if negated else ''}{''.join(parts)}]"


@lru_cache(maxsize=1024)
def json_class(ranges: Ranges) -> str:
    """GBNF for one character of `ranges` inside a JSON string, in each way that it may be written."""
    options: list[str] = []
    plain = intersection(ranges, complement(MUST_ESCAPE))
    if plain:
        options.append(class_text(plain))
    escapes: list[str] = []
    letters = "".join(letter for point, letter in SHORT_ESCAPES.items() if _holds(ranges, point))
    if letters:
        escapes.append(f"[{letters}]")
    escapes += [f'"u" {spelled}' for spelled in _hex_units(intersection(ranges, CODED))]
    escapes += [f'"u" {spelled}' for spelled in _pairs(intersection(ranges, ((0x10000, 0x10FFFF),)))]
    if len(escapes) == 1:
        options.append(f'"\\\\" {escapes[0]}')
    elif escapes:
        options.append(f'"\\\\" ({" | ".join(escapes)})')
    if not options:
        return "[]"
    return options[0] if len(options) == 1 and options[0].startswith("[") else f"({' | '.join(options)})"


def json_text(text: str) -> str:
    """GBNF for the inside of the JSON string `text`: its usual spelling, and escapes that serialisers use."""
    parts = [
        quoted(json.dumps(run)[1:-1]) if run[0] in PRINTABLE else " ".join(json_class(((ord(c), ord(c)),)) for c in run)
        for run in RUNS.findall(text)
    ]
    return " ".join(parts) or '""'


def _holds(ranges: Ranges, point: int) -> bool:
    return any(low <= point <= high for low, high in ranges)


def _hex_units(units: Iterable[UnitRange]) -> list[str]:
    """GBNF for four hexadecimal digits with a value in one of the ranges."""
    return [spelled for low, high in units for spelled in _hex_range(low, high, 4)]


@lru_cache(maxsize=4096)
def _hex_range(low: int, high: int, width: int) -> tuple[str, ...]:
    if width == 0:
        return ("",)
    span = 1 << (4 * (width - 1))
    first, last = low // span, high // span
    if low % span == 0 and (high + 1) % span == 0:
        return (_hex_digit(first, last) + ("" if width == 1 else f" [0-9a-fA-F]{{{width - 1}}}"),)
    if first == last:
        return tuple(f"{_hex_digit(first, first)} {rest}" for rest in _hex_range(low % span, high % span, width - 1))
    parts: list[str] = []
    if low % span:
        parts += _hex_range(low, (first + 1) * span - 1, width)
        first += 1
    tail: tuple[str, ...] = ()
    if (high + 1) % span:
        tail = _hex_range(last * span, high, width)
        last -= 1
    if first <= last:
        parts += _hex_range(first * span, (last + 1) * span - 1, width)
    return (*parts, *tail)


def _hex_digit(low: int, high: int) -> str:
    digits = normalised(
        [(ord(f"{n:x}"), ord(f"{n:x}")) for n in range(low, high + 1)]
        + [(ord(f"{n:X}"), ord(f"{n:X}")) for n in range(low, high + 1)]
    )
    return class_text(digits)


def _pairs(ranges: Ranges) -> list[str]:
    """GBNF for surrogate pairs in hexadecimal, after the first `\\u`."""
    found: list[str] = []
    for low, high in ranges:
        while low <= high:
            # pairs with the same first unit, or a block in which every second unit is taken
            block = low & ~0x3FF
            end = min(high, block | 0x3FF)
            if low == block and high >= block + 0x3FF:
                end = ((high + 1) & ~0x3FF) - 1
            firsts = (0xD800 + ((low - 0x10000) >> 10), 0xD800 + ((end - 0x10000) >> 10))
            seconds = (0xDC00 + (low & 0x3FF), 0xDC00 + (end & 0x3FF))
            for first in _hex_range(*firsts, 4):
                found += [f'{first} "\\\\u" {second}' for second in _hex_range(*seconds, 4)]
            low = end + 1
    return found
