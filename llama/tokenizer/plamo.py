"""PLaMo-2's tokenizer: of all ways to cut a text into tokens the one of the best total score."""

from collections.abc import Iterable

import numpy as np

from llama.tokenizer.tokens import BYTE, Tokens

SCALE = 10_000  # scores are summed as integers, in this fraction
UNKNOWN = 10_000_000  # the cost of a character that has to be spelled in bytes


class BestPathEncoder:
    """Encodes text between special tokens. Safe to call from several threads."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        scaled = tokens.scores.astype(np.float64) * SCALE
        costs = -np.where(scaled < 0, np.ceil(scaled - 0.5), np.floor(scaled + 0.5))
        spelled = (tokens.kinds & BYTE) == 0
        self._costs = {
            text: int(cost)
            for text, cost, ok in zip(tokens.texts, costs, spelled, strict=True)
            if ok and cost < 2 * UNKNOWN
        }
        self._longest = max(map(len, self._costs), default=1)

    def encode(self, text: str) -> Iterable[int]:
        text = text.removeprefix("\ufeff")
        lengths = self._best_lengths(text)
        at = 0
        while at < len(text):
            length = abs(lengths[at])
            if lengths[at] > 0:
                yield self._tokens.ids[text[at : at + length]]
            else:
                yield from self._bytes(text[at])
            at += length

    def _best_lengths(self, text: str) -> list[int]:
        """The length of the token to take at each place, -1 where the character is to be spelled."""
        n = len(text)
        totals = [0] * (n + 1)
        lengths = [0] * n
        for at in range(n - 1, -1, -1):
            best, chosen = totals[at + 1] + UNKNOWN, -1
            for length in range(min(self._longest, n - at), 0, -1):
                cost = self._costs.get(text[at : at + length])
                if cost is None:
                    continue
                total = totals[at + length] + cost
                if total < best or (total == best and chosen == -1):
                    best, chosen = total, length
            totals[at], lengths[at] = best, chosen
        return lengths

    def _bytes(self, char: str) -> Iterable[int]:
        for byte in char.encode("utf-8", "surrogatepass"):
            id = self._tokens.bytes_fallback(byte)
            if id is not None:
                yield id
