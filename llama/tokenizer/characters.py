"""Classes of characters as llama.cpp's pre-tokenizers see them: each text has a shadow with one byte a character.

In the shadow ASCII stays as it is, other white space becomes a vertical tab, and other characters become a code for
their Unicode category. Patterns over shadows need no Unicode tables, so the standard `re` runs them, fast.
"""

import unicodedata
from functools import cache

import numpy as np
from numpy.typing import NDArray

from llama.tokenizer import categories

WHITE_SPACE = (
    *range(0x09, 0x0E),
    0x20,
    0x85,
    0xA0,
    0x1680,
    *range(0x2000, 0x200B),
    0x2028,
    0x2029,
    0x202F,
    0x205F,
    0x3000,
)
NUMBER, LETTER, PUNCTUATION, MARK, SYMBOL, OTHER = "\xd1\xd2\xd3\xd4\xd5\xd0"
SHADOWS = {
    categories.NUMBER: NUMBER,
    categories.LETTER: LETTER,
    categories.PUNCTUATION: PUNCTUATION,
    categories.MARK: MARK,
    categories.SYMBOL: SYMBOL,
}
_BLANKS = {code: "\v" for code in WHITE_SPACE if code > 0x7F}


@cache
def _categories() -> NDArray[np.uint8]:
    return categories.category_table()


@cache
def _shadows() -> NDArray[np.uint8]:
    """(0x110000,) the shadow of each code point."""
    letters = np.full(256, ord(OTHER), np.uint8)
    for category, shadow in SHADOWS.items():
        letters[ord(category)] = ord(shadow)
    table: NDArray[np.uint8] = letters[_categories()]
    table[:128] = np.arange(128)
    table[list(_BLANKS)] = ord("\v")
    return table


def shadow(text: str) -> str:
    """The shadow of `text`, as long as the text."""
    if text.isascii():
        return text
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    return _shadows()[codes].tobytes().decode("latin-1")


def ascii_blanks(text: str) -> str:
    """`text` with a vertical tab for each white space outside ASCII: what patterns without categories run on."""
    return text if text.isascii() else text.translate(_BLANKS)


def category(code: int) -> str:
    """The letter of the code point's general category, `categories.UNASSIGNED` if it has none."""
    return chr(_categories()[code])


def lower(code: int) -> int:
    """The code point's lower case, itself when there is none of one code point."""
    return ord(chr(code).lower()[0]) if category(code) != categories.UNASSIGNED else code


def base(code: int) -> int:
    """The first code point of the canonical decomposition: a letter without its accents."""
    return ord(unicodedata.normalize("NFD", chr(code))[0])
