"""The vocabulary as samplers see it. Built once a model and shared by all requests."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from llama.sampling.dry import Breakers, find_breakers

MAX_BREAKER_SETS = 64


@dataclass(frozen=True)
class SamplingVocab:
    """What bans, DRY and the infill sampler need of a vocabulary.

    n_vocab is the length of a row of logits. pieces are the tokens' text bytes, control tokens included. encode turns
    text into ids, without beginning-of-sequence token and without reading control tokens in it. end is the token that
    the infill sampler ends with (end of turn, else of sequence). suppress are tokens that the model file bans.
    """

    n_vocab: int
    eog: frozenset[int]
    pieces: Sequence[bytes]
    encode: Callable[[str], list[int]]
    end: int | None = None
    suppress: tuple[int, ...] = ()
    _breakers: dict[tuple[str, ...], Breakers] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def ids(self) -> NDArray[np.int32]:
        """0 .. n_vocab - 1, read-only."""
        ids = np.arange(self.n_vocab, dtype=np.int32)
        ids.flags.writeable = False
        return ids

    def breakers(self, texts: tuple[str, ...]) -> Breakers:
        """DRY's sequence breakers as tokens; kept, since finding them looks at the whole vocabulary."""
        found = self._breakers.get(texts)
        if found is None:
            found = find_breakers(self.pieces, self.encode, texts)
            if len(self._breakers) >= MAX_BREAKER_SETS:
                self._breakers.clear()
            self._breakers[texts] = found
        return found
