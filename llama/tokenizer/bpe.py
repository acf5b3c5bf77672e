"""Byte-pair encoding: words are merged pair by pair, in the order in which the vocabulary learnt the pairs."""

from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache

from llama.errors import ModelFileError
from llama.tokenizer import longmerging
from llama.tokenizer.merging import NEVER, merge
from llama.tokenizer.pieces import BLANK, spell
from llama.tokenizer.pretokenizer import words
from llama.tokenizer.pretokenizers import PreTokenizer
from llama.tokenizer.tokens import Tokens
from llama.tokenizer.wordcache import CACHED_WORDS, LONGEST_CACHED, BlankSplitter


class BytePairEncoder:
    """Encodes text between special tokens. Safe to call from several threads."""

    def __init__(self, tokens: Tokens, merges: Sequence[str], pre: PreTokenizer) -> None:
        self._tokens = tokens
        self._pre = pre
        self._ranks = dict(zip(reversed(merges), range(len(merges) - 1, -1, -1), strict=True))
        self._remembered = lru_cache(CACHED_WORDS)(self._word)

    def encode(self, text: str) -> Iterable[int]:
        if self._pre.escape_blanks:
            text = text.replace(" ", BLANK)
        pieces = words(text, self._pre.stages)
        if not self._pre.bytewise:
            pieces = [part for piece in pieces for part in self._split(piece)]
        ids: list[int] = []
        for piece in pieces:
            ids += self._remembered(piece) if len(piece) <= LONGEST_CACHED else self._word(piece)
        return ids

    def _split(self, piece: str) -> list[str]:
        whole = self._pre.ignore_merges or (self._pre.whole_newlines and not piece.strip("\n"))
        return [piece] if whole and piece in self._tokens.ids else self._blanks.split(piece)

    @cached_property
    def _blanks(self) -> BlankSplitter:
        return BlankSplitter(merge.replace(" ", "", 1) for merge in self._ranks)

    def _word(self, word: str) -> tuple[int, ...]:
        if self._pre.bytewise:
            word = spell(word.encode("utf-8", "surrogatepass"))
        if self._pre.ignore_merges or (self._pre.whole_newlines and not word.strip("\n")):
            id = self._tokens.ids.get(word)
            if id is not None:
                return (id,)
        ids: list[int] = []
        for symbol in self._merged(list(word)):
            id = self._tokens.ids.get(symbol)
            ids += self._bytes(symbol) if id is None else [id]
        return tuple(ids)

    def _merged(self, symbols: list[str]) -> list[str]:
        if longmerging.AVAILABLE and len(symbols) >= longmerging.LONG:
            return self._long.merge(symbols)
        return merge(symbols, self._rank)

    @cached_property
    def _long(self) -> longmerging.LongMerger:
        return longmerging.LongMerger(self._ranks, spaced=True)

    def _rank(self, left: str, right: str) -> float:
        return self._ranks.get(f"{left} {right}", NEVER)

    def _bytes(self, symbol: str) -> list[int]:
        """The tokens of a symbol that is none itself: one a byte, bytes without a token are left out."""
        data = symbol.encode("utf-8", "surrogatepass")
        if self._pre.bytewise:
            found = [self._tokens.ids.get(chr(byte)) for byte in data if byte < 0x80]
        else:
            found = [self._tokens.bytes_fallback(byte) for byte in data]
        return [id for id in found if id is not None]


def read_merges(metadata: object, required: bool) -> list[str]:
    """The list of merges, each two symbols with a blank between them."""
    if metadata is None and not required:
        return []
    if not isinstance(metadata, list) or not all(isinstance(merge, str) for merge in metadata):
        raise ModelFileError(
            '"tokenizer.ggml.merges" must be a list of strings: without merges no text can be tokenised'
        )
    return metadata
