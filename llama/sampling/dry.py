"""DRY ("don't repeat yourself"): tokens that would continue a long repetition lose probability.

After https://github.com/oobabooga/text-generation-webui/pull/5677, with llama.cpp's treatment of sequence breakers.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from math import log

import numpy as np

from llama.kernels import select
from llama.sampling.candidates import Candidates

MAX_BREAKER_BYTES = 40
MAX_TAIL_TOKENS = 20
LARGEST_EXPONENT = 88.7228391  # ln of the largest float32

# A token that begins a breaker -> the token sequences that complete it; an empty one if the token contains it whole.
Breakers = Mapping[int, Sequence[tuple[int, ...]]]


def find_breakers(pieces: Sequence[bytes], encode: Callable[[str], list[int]], texts: Sequence[str]) -> Breakers:
    """Where the breaker `texts` can begin and how they go on, looking at the text bytes of every token."""
    found: dict[int, list[tuple[int, ...]]] = {}
    for text in texts:
        breaker = text.encode("utf-8", "replace")[:MAX_BREAKER_BYTES]
        if not breaker:
            continue
        tails = _tails(breaker, encode)
        for id, piece in enumerate(pieces):
            if breaker in piece:
                found.setdefault(id, []).append(())
                continue
            for start, tail in tails:
                if piece.endswith(start) and tail not in found.get(id, ()):
                    found.setdefault(id, []).append(tail)
    return found


def _tails(breaker: bytes, encode: Callable[[str], list[int]]) -> list[tuple[bytes, tuple[int, ...]]]:
    """Each way to cut the breaker in two: the bytes a token must end with, and the tokens of the rest."""
    return [
        (breaker[:n], tuple(encode(breaker[n:].decode("utf-8", "replace"))[:MAX_TAIL_TOKENS]))
        for n in range(1, len(breaker))
    ]


class Dry:
    """The last tokens of a text, and what DRY makes of them."""

    def __init__(self, multiplier: float, base: float, allowed: int, window: int, breakers: Breakers) -> None:
        self._multiplier, self._base, self._allowed = multiplier, base, allowed
        self._tokens: deque[int] = deque(maxlen=max(window, 0))
        self._breakers = breakers
        self._most = int(LARGEST_EXPONENT / log(base)) if base > 1.000001 else 0

    def push(self, token: int) -> None:
        """Take in one more token."""
        self._tokens.append(token)

    def apply(self, candidates: Candidates) -> Candidates:
        """Takes multiplier * base ** (length - allowed) off tokens that continue a repeat of `length` tokens."""
        penalties = self.penalties()
        if not penalties:
            return candidates
        places, known = candidates.places(np.fromiter(penalties.keys(), np.int32))
        offs = np.fromiter(penalties.values(), np.float64)[known].astype(np.float32)
        return candidates.changed(places, candidates.logits[places] - offs)

    def penalties(self) -> dict[int, float]:
        """What each token loses that would continue a repeat."""
        if len(self._tokens) <= self._allowed:
            return {}
        newest_first = np.fromiter(reversed(self._tokens), np.int32, len(self._tokens))
        limit = self._since_breaker(newest_first.tolist())
        if limit < self._allowed:
            return {}
        lengths = select.repeats(newest_first, limit)
        longest: dict[int, int] = {}
        for k in (np.flatnonzero(lengths[1:] >= self._allowed) + 1).tolist():
            follower = int(newest_first[k - 1])
            longest[follower] = max(longest.get(follower, 0), int(lengths[k]))
        return {token: self._penalty(n) for token, n in longest.items() if () not in self._breakers.get(token, ())}

    def _penalty(self, length: int) -> float:
        exponent = length - self._allowed
        if self._most:
            exponent = min(exponent, self._most)
        return min(self._multiplier * self._base**exponent, float(np.finfo(np.float32).max))

    def _since_breaker(self, newest_first: list[int]) -> int:
        """How many tokens came after the latest breaker."""
        for i, token in enumerate(newest_first):
            fitting = [
                len(tail)
                for tail in self._breakers.get(token, ())
                if len(tail) <= i and all(tail[j] == newest_first[i - j - 1] for j in range(len(tail)))
            ]
            if fitting:
                return i - max(fitting)
        return len(newest_first)
