"""Byte-pair vocabularies that read DNA between <dna> and </dna> in words of six letters."""

from collections.abc import Iterable

from llama.tokenizer.bpe import BytePairEncoder
from llama.tokenizer.tokens import Tokens

OPEN, CLOSE, UNKNOWN = "<dna>", "</dna>", "<oov>"
MARKER = "\ue000"  # behind the spelling of DNA words, which could be those of other tokens too
LENGTH = 6  # letters of a word; the last is filled up with A
_UPPER = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")


class DnaEncoder:
    """Encodes DNA by words and other text by pairs, or all by pairs where the vocabulary has no tokens for DNA."""

    def __init__(self, pairs: BytePairEncoder, tokens: Tokens) -> None:
        self._pairs = pairs
        self._ids = tokens.ids
        _unmark(tokens)

    def encode(self, text: str) -> Iterable[int]:
        if not self._ids.keys() >= {OPEN, CLOSE, UNKNOWN}:
            yield from self._pairs.encode(text)
            return
        while text:
            plain, opened, text = text.partition(OPEN)
            if plain:
                yield from self._pairs.encode(plain)
            if opened:
                letters, closed, text = text.partition(CLOSE)
                yield self._ids[OPEN]
                yield from self._words(letters)
                if closed:
                    yield self._ids[CLOSE]

    def _words(self, letters: str) -> Iterable[int]:
        data = letters.translate(_UPPER).encode("utf-8", "surrogatepass").decode("latin-1")
        for at in range(0, len(data), LENGTH):
            word = data[at : at + LENGTH].ljust(LENGTH, "A")
            yield self._ids.get(word + MARKER, self._ids[UNKNOWN])


def _unmark(tokens: Tokens) -> None:
    """Takes the marker off the texts of DNA words, which come behind the unknown one; `ids` keeps it."""
    first = tokens.ids.get(UNKNOWN, len(tokens)) + 1
    words = (text.removesuffix(MARKER) or text for text in tokens.texts[first:])
    tokens.texts = [*tokens.texts[:first], *words]
