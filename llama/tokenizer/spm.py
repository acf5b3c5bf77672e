"""SentencePiece's merging: neighbours whose joint text is a token are merged, the token of the best score first."""

from collections.abc import Iterable
from functools import cached_property, lru_cache

from llama.tokenizer import longmerging
from llama.tokenizer.merging import NEVER, merge
from llama.tokenizer.pieces import BLANK
from llama.tokenizer.tokens import Tokens
from llama.tokenizer.wordcache import CACHED_WORDS, LONGEST_CACHED, BlankSplitter


class SentencePieceEncoder:
    """Encodes text between special tokens. Safe to call from several threads."""

    def __init__(self, tokens: Tokens, unk: int | None) -> None:
        self._tokens = tokens
        self._unknown = () if unk is None else (unk,)
        self._remembered = lru_cache(CACHED_WORDS)(self._part)

    def encode(self, text: str) -> Iterable[int]:
        ids: list[int] = []
        for part in self._blanks.split(text.replace(" ", BLANK)):
            ids += self._remembered(part) if len(part) <= LONGEST_CACHED else self._part(part)
        return ids

    @cached_property
    def _blanks(self) -> BlankSplitter:
        return BlankSplitter(self._tokens.texts)

    @cached_property
    def _ranks(self) -> list[float]:
        ranks: list[float] = (-self._tokens.scores.astype(float)).tolist()
        return ranks

    def _part(self, part: str) -> tuple[int, ...]:
        ids: list[int] = []
        for symbol in self._merged(list(part)):
            id = self._tokens.ids.get(symbol)
            ids += self._bytes(symbol) if id is None else [id]
        return tuple(ids)

    def _merged(self, symbols: list[str]) -> list[str]:
        if longmerging.AVAILABLE and len(symbols) >= longmerging.LONG:
            return self._long.merge(symbols)
        return merge(symbols, self._rank)

    @cached_property
    def _long(self) -> longmerging.LongMerger:
        ranks = {text: self._ranks[id] for text, id in self._tokens.ids.items()}
        return longmerging.LongMerger(ranks, spaced=False)

    def _rank(self, left: str, right: str) -> float:
        id = self._tokens.ids.get(left + right)
        return NEVER if id is None else self._ranks[id]

    def _bytes(self, char: str) -> Iterable[int]:
        """The tokens of a character's bytes; the unknown token, if there is one, for bytes without a token."""
        for byte in char.encode("utf-8", "surrogatepass"):
            id = self._tokens.bytes_fallback(byte)
            if id is None and byte < 0x80:
                id = self._tokens.ids.get(chr(byte))
            yield from self._unknown if id is None else (id,)
