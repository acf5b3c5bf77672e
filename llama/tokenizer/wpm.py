"""WordPiece, BERT's way: words are cut into the longest tokens they begin with, or are unknown as a whole."""

from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache

from llama.tokenizer import categories, characters
from llama.tokenizer.pieces import BLANK
from llama.tokenizer.tokens import Tokens
from llama.tokenizer.wordcache import CACHED_WORDS, LONGEST_CACHED

CHINESE = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),  # not 0x2B820: the original tokenizer has this slip, and ids must be the same
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
REPLACEMENT = 0xFFFD


class WordPieceEncoder:
    """Encodes text between special tokens. Safe to call from several threads."""

    def __init__(self, tokens: Tokens, unk: int | None, *, lowercase: bool, strip_accents: bool) -> None:
        self._tokens = tokens
        self._unknown = () if unk is None else (unk,)
        self._normal = Normalizer(lowercase, strip_accents)
        self._lengths = _lengths_by_first(tokens)
        self._remembered = lru_cache(CACHED_WORDS)(self._word)

    def encode(self, text: str) -> Iterable[int]:
        ids: list[int] = []
        for word in text.translate(self._normal).split(" "):
            if word:
                ids += self._remembered(word) if len(word) <= LONGEST_CACHED else self._word(word)
        return ids

    def _word(self, word: str) -> tuple[int, ...]:
        word = BLANK + word
        ids: list[int] = []
        at = 0
        while at < len(word):
            for length in self._lengths.get(word[at], ()):
                id = self._tokens.ids.get(word[at : at + length])
                if id is not None and at + length <= len(word):
                    break
            else:
                return self._unknown
            ids.append(id)
            at += length
        return tuple(ids)


def _lengths_by_first(tokens: Tokens) -> dict[str, list[int]]:
    """The lengths of the tokens that begin with a character, longest first."""
    lengths: dict[str, set[int]] = defaultdict(set)
    for text in tokens.texts:
        lengths[text[0]].add(len(text))
    return {first: sorted(found, reverse=True) for first, found in lengths.items()}


class Normalizer(dict[int, str]):
    """What becomes of each character, worked out when it is first met: to be given to `str.translate`.

    White space parts words, signs and Chinese characters are words of their own, control characters vanish, and
    accents and capitals as the vocabulary says.
    """

    def __init__(self, lowercase: bool, strip_accents: bool) -> None:
        super().__init__()
        self._lowercase = lowercase
        self._strip_accents = strip_accents

    def __missing__(self, code: int) -> str:
        normal = self[code] = self._normal(characters.base(code) if self._strip_accents else code)
        return normal

    def _normal(self, code: int) -> str:
        kind = characters.category(code)
        if code in characters.WHITE_SPACE:
            return " "
        dropped = code in (0, REPLACEMENT) or kind == categories.CONTROL
        if dropped or (self._strip_accents and kind == categories.MARK):
            return ""
        char = chr(characters.lower(code) if self._lowercase else code)
        sign = kind == categories.PUNCTUATION or (code < 0x7F and kind == categories.SYMBOL)
        alone = sign or any(first <= code <= last for first, last in CHINESE)
        return f" {char} " if alone else char
