"""Penalties for what was said lately: repetition, presence and frequency."""

from collections import deque

import numpy as np
from numpy.typing import NDArray

from llama.jit import compiled
from llama.sampling.candidates import Candidates, Floats

HIGHEST = np.float32(1e9)  # a negative penalty may not lift a logit out of what float32 can reckon with


class Window:
    """The last `size` tokens, and how often each of them stands there."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._tokens: deque[int] = deque()
        self._places: dict[int, int] = {}
        self._ids = np.empty(16, np.int32)
        self._counts = np.empty(16, np.float32)

    def push(self, token: int) -> None:
        """Take in one more token; the oldest one leaves when the window is full."""
        if self._size <= 0:
            return
        if len(self._tokens) == self._size:
            self._forget(self._tokens.popleft())
        self._tokens.append(token)
        if token in self._places:
            self._counts[self._places[token]] += 1
        else:
            self._add(token)

    def _add(self, token: int) -> None:
        place = len(self._places)
        if place == len(self._ids):
            self._ids = np.concatenate((self._ids, self._ids))
            self._counts = np.concatenate((self._counts, self._counts))
        self._places[token] = place
        self._ids[place], self._counts[place] = token, 1

    def _forget(self, token: int) -> None:
        place = self._places[token]
        self._counts[place] -= 1
        if self._counts[place] == 0:  # the last entry moves into the gap
            last = len(self._places) - 1
            self._ids[place], self._counts[place] = self._ids[last], self._counts[last]
            self._places[int(self._ids[last])] = place
            del self._places[token]

    @property
    def ids(self) -> NDArray[np.int32]:
        """The distinct tokens, (M,)."""
        return self._ids[: len(self._places)]

    @property
    def counts(self) -> Floats:
        """How often each of `ids` stands in the window, (M,)."""
        return self._counts[: len(self._places)]


def penalties(candidates: Candidates, window: Window, repeat: float, presence: float, frequency: float) -> Candidates:
    """Lowers the logits of tokens in the window.

    First the repeat penalty, once a token: a positive logit is divided by it, another one multiplied; then `frequency`
    for every occurrence and `presence` once are taken off.
    """
    places, known = candidates.places(window.ids)
    logits = candidates.logits.copy()
    with np.errstate(over="ignore"):  # minus infinity is a fine result; only plain Python would warn of it
        _lower(logits, places, window.counts[known], np.float32(repeat), np.float32(presence), np.float32(frequency))
    return Candidates(candidates.ids, logits, whole=candidates.whole)


@compiled
def _lower(
    logits: Floats,
    places: NDArray[np.intp],
    counts: Floats,
    repeat: np.float32,
    presence: np.float32,
    frequency: np.float32,
) -> None:
    """Penalises the logits at `places` where they stand."""
    for i in range(len(places)):
        logit = logits[places[i]]
        logit = logit * repeat if logit <= 0 else logit / repeat
        logit -= counts[i] * frequency + presence
        logits[places[i]] = min(logit, HIGHEST)
