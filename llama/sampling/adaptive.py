"""Adaptive-p: prefers tokens whose probability is near a target, and moves the target by what was picked.

https://github.com/ggml-org/llama.cpp/pull/17927. Takes the place of the plain draw.
"""

import numpy as np

from llama.sampling.candidates import NEVER, Candidates, Floats
from llama.sampling.draws import Generator, draw_discrete

WIDTH = np.float32(0.3)
PEAK = np.float32(5)
SHARPNESS = np.float32(10)
LONGEST_MEMORY = 0.99


class AdaptiveP:
    """A decaying mean of the probabilities of the picked tokens. A negative target is a plain draw."""

    def __init__(self, target: float, decay: float, generator: Generator) -> None:
        self._decay = min(max(decay, 0.0), LONGEST_MEMORY)
        self._target = target
        self._generator = generator
        self._sum = target / (1 - self._decay)
        self._weight = 1 / (1 - self._decay)
        self._pending: tuple[int, float] | None = None

    def draw(self, candidates: Candidates) -> tuple[Candidates, int, Floats]:
        """The candidates with moved logits, the place of the one that is picked, and their new probabilities."""
        before = candidates.probabilities()
        if self._target < 0:
            return candidates, draw_discrete(before, self._generator), before
        wanted = min(max(2 * min(self._target, 1.0) - self._sum / self._weight, 0.0), 1.0)
        distance = np.abs(before - np.float32(wanted)) / WIDTH
        logits = PEAK - SHARPNESS * distance * distance / (1 + distance)
        moved = Candidates(candidates.ids, np.where(candidates.logits == NEVER, NEVER, logits))
        after = moved.probabilities()
        place = draw_discrete(after, self._generator)
        self._pending = int(moved.ids[place]), float(before[place])
        return moved, place, after

    def accept(self, token: int) -> None:
        """Remember the probability that `token` had, if it is the one that was drawn."""
        if self._pending and self._pending[0] == token:
            self._sum = self._pending[1] + self._decay * self._sum
            self._weight = 1 + self._decay * self._weight
        self._pending = None
