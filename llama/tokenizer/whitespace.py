"""Byte-pair vocabularies whose words are what stands between white space, which is no part of any token."""

import re
from collections.abc import Iterable

from llama.tokenizer import characters
from llama.tokenizer.bpe import BytePairEncoder

_BLANKS = re.compile("[" + "".join(map(chr, characters.WHITE_SPACE)) + "]+")


class WhitespaceEncoder:
    """Encodes each word by itself, in lower case where the vocabulary wants it."""

    def __init__(self, pairs: BytePairEncoder, *, lowercase: bool) -> None:
        self._pairs = pairs
        self._lowercase = lowercase

    def encode(self, text: str) -> Iterable[int]:
        if self._lowercase:
            text = "".join(chr(characters.lower(ord(char))) for char in text)
        for word in _BLANKS.split(text):
            yield from self._pairs.encode(word) if word else ()
