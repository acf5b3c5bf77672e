"""Unicode properties by name, as ranges of code points (general categories, from Python's own tables)."""

import sys
import unicodedata
from functools import lru_cache

from llama.grammar.syntax import ANY, Ranges, normalised

LONG_NAMES = {
    "Letter": "L",
    "Uppercase_Letter": "Lu",
    "Lowercase_Letter": "Ll",
    "Titlecase_Letter": "Lt",
    "Modifier_Letter": "Lm",
    "Other_Letter": "Lo",
    "Mark": "M",
    "Number": "N",
    "Decimal_Number": "Nd",
    "digit": "Nd",
    "Punctuation": "P",
    "punct": "P",
    "Symbol": "S",
    "Separator": "Z",
    "Space_Separator": "Zs",
    "Other": "C",
    "Control": "Cc",
}


@lru_cache(maxsize=64)
def property_ranges(name: str) -> Ranges | None:
    """The code points of a general category (`L`, `gc=Nd`, `Letter` ...), of `ASCII` or `Any`; None if unknown."""
    name = name.removeprefix("General_Category=").removeprefix("gc=")
    if name == "Any":
        return ANY
    if name == "ASCII":
        return ((0, 0x7F),)
    name = LONG_NAMES.get(name, name)
    if name not in _categories() and name not in {category[0] for category in _categories()}:
        return None
    return normalised([run for category, runs in _categories().items() if category.startswith(name) for run in runs])


@lru_cache(maxsize=1)
def _categories() -> dict[str, list[tuple[int, int]]]:
    """Runs of code points of each general category."""
    found: dict[str, list[tuple[int, int]]] = {}
    start, current = 0, unicodedata.category(chr(0))
    for point in range(1, sys.maxunicode + 2):
        category = unicodedata.category(chr(point)) if point <= sys.maxunicode else ""
        if category != current:
            found.setdefault(current, []).append((start, point - 1))
            start, current = point, category
    return found
