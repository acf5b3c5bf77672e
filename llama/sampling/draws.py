"""Random numbers and draws, word for word as llama.cpp takes them from C++'s std::mt19937."""

import random
from math import nextafter

import numpy as np

from llama.sampling.candidates import Candidates, Floats

RANDOM_SEED = 0xFFFFFFFF  # the seed that means: take a random one
_STATE_VERSION = 3  # of random.Random's state


class Generator:
    """A Mersenne Twister, seeded as std::mt19937 is."""

    def __init__(self, seed: int) -> None:
        words = np.random.RandomState(seed).get_state(legacy=False)["state"]["key"]
        self._source = random.Random()
        self._source.setstate((_STATE_VERSION, (*(int(word) for word in words), len(words)), None))

    def double(self) -> float:
        """A number in [0, 1) from two 32-bit words, the first one low."""
        number = self._source.getrandbits(64) / 2.0**64
        return number if number < 1 else nextafter(1.0, 0.0)

    def single(self) -> float:
        """A float32 in [0, 1) from one 32-bit word."""
        number = np.float32(self._source.getrandbits(32)) / np.float32(2**32)
        return float(number if number < 1 else np.nextafter(np.float32(1), np.float32(0)))


def draw(candidates: Candidates, generator: Generator) -> tuple[int, Floats]:
    """Picks a candidate by its probability: its place, and the probabilities. Uses a number even for a lone one."""
    weights = candidates.weights()
    running = weights.cumsum(dtype=np.float64)
    place = int(running.searchsorted(running[-1] * generator.double()))
    return min(place, len(weights) - 1), weights / np.float32(running[-1])


def draw_discrete(probabilities: Floats, generator: Generator) -> int:
    """Picks a place as std::discrete_distribution does: a lone one without using up a number."""
    if len(probabilities) < 2:
        return 0
    exact = probabilities.astype(np.float64)
    running = (exact / exact.cumsum()[-1]).cumsum()
    return min(int(running.searchsorted(generator.double())), len(probabilities) - 1)
