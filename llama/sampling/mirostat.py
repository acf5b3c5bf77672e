"""Mirostat, versions 1 and 2: cuts and draws so that the surprise of the text stays near a target.

https://arxiv.org/abs/2007.14966. Replaces all filters and the draw.
"""

import numpy as np

from llama.sampling.candidates import NEVER, Candidates, Floats
from llama.sampling.draws import Generator, draw_discrete

LOOKED_AT = 100  # likeliest tokens from which version 1 estimates how fast probabilities fall
MOST = 2.0**31  # llama.cpp's count is an int: what does not fit becomes negative on x86, and then 1


class Mirostat:
    """The running estimate `mu`: the largest surprise, in bits, that a token may have."""

    def __init__(self, version: int, tau: float, eta: float, n_vocab: int, generator: Generator) -> None:
        self._cut = self._cut_by_zipf if version == 1 else self._cut_by_surprise
        self._tau, self._eta = tau, eta
        self._n_vocab = n_vocab
        self._generator = generator
        self.mu = 2 * tau

    def draw(self, candidates: Candidates) -> tuple[Candidates, int, Floats]:
        """The surviving candidates, the place of the one that is picked, and their probabilities. Moves `mu`."""
        candidates = self._cut(candidates)
        probabilities = candidates.probabilities()
        place = draw_discrete(probabilities, self._generator)
        if probabilities[place] > 0:
            surprise = -float(np.log2(probabilities[place]))
            self.mu -= self._eta * (surprise - self._tau)
        return candidates, place, probabilities

    def _cut_by_zipf(self, candidates: Candidates) -> Candidates:
        """Version 1: as many tokens as Zipf's law, fitted to the likeliest ones, allows.

        Only the likeliest one when a probability among those is 0, as behind a grammar: llama.cpp's fit fails there.
        """
        likeliest = candidates.best(LOOKED_AT)
        if not likeliest.weights().all():
            return candidates.best(1)
        return candidates.best(self._zipf_count(likeliest.logits, len(candidates.ids)))

    def _zipf_count(self, logits: Floats, most: int) -> int:
        falls = -np.diff(logits.astype(np.float64))
        ranks = np.arange(1, len(falls) + 1)
        steps = np.log((ranks + 1) / ranks)
        slope = float((steps * falls).sum() / (steps * steps).sum()) if len(falls) else 0.0
        epsilon = slope - 1
        if slope == 0 or epsilon == 0:
            return 1
        with np.errstate(all="ignore"):
            share = epsilon * np.exp2(np.float64(self.mu)) / (1 - np.float64(self._n_vocab) ** -epsilon)
            k = share ** (1 / slope)
        return int(min(max(k, 1), most)) if k < MOST else 1

    def _cut_by_surprise(self, candidates: Candidates) -> Candidates:
        """Version 2: the tokens whose surprise is at most `mu`, and always the likeliest one."""
        probabilities = candidates.probabilities()
        with np.errstate(divide="ignore"):
            fits = -np.log2(probabilities) <= np.float32(self.mu)
        if not fits.any():
            return candidates.best(1)
        fits &= candidates.logits > NEVER
        return Candidates(candidates.ids[fits], candidates.logits[fits], candidates.in_order).sorted()
