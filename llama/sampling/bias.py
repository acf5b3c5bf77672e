"""What is added to logits before anything else: the request's biases, and bans of end tokens."""

from collections.abc import Iterable, Mapping
from itertools import chain
from math import inf, isnan

import numpy as np

from llama.sampling.candidates import NEVER, Candidates
from llama.sampling.params import SamplingParams
from llama.sampling.vocab import SamplingVocab

LARGEST = 1e9  # a larger bias could not be told from this one, and would overflow


class Bias:
    """Biases by token, added up where a token has several; ids outside the vocabulary are left out."""

    def __init__(self, biases: Mapping[int, float], n_vocab: int) -> None:
        known = {id: bias for id, bias in biases.items() if 0 <= id < n_vocab and not isnan(bias)}
        self._ids = np.fromiter(known.keys(), np.int32, len(known))
        self._biases = np.fromiter(map(_bounded, known.values()), np.float32, len(known))
        self._lowered = None if any(bias > 0 for bias in known.values()) else frozenset(known)

    def __bool__(self) -> bool:
        return len(self._ids) > 0

    def spares(self, best: int) -> bool:
        """True if the token with the largest logit stays that under the biases: it has none, and no other is raised."""
        return self._lowered is not None and best not in self._lowered

    def apply(self, candidates: Candidates) -> Candidates:
        """The candidates with the biases on their logits."""
        places, known = candidates.places(self._ids)
        return candidates.changed(places, candidates.logits[places] + self._biases[known])


def always(params: SamplingParams, vocab: SamplingVocab) -> Bias:
    """What counts for every token: `logit_bias`, `ignore_eos`, bad words of one token, and what the model file bans."""
    biases: dict[int, float] = {}
    for id, bias in params.logit_bias:
        biases[id] = biases.get(id, 0.0) + bias
    bans = [
        vocab.eog if params.ignore_eos else (),
        vocab.suppress,
        (word[0] for word in params.bad_words if not word[1:]),
    ]
    return Bias({**biases, **banned(chain.from_iterable(bans))}, vocab.n_vocab)


def banned(ids: Iterable[int]) -> dict[int, float]:
    """The bias that makes tokens impossible."""
    return dict.fromkeys(ids, -inf)


def _bounded(bias: float) -> float:
    return float(NEVER) if bias == -inf else min(max(bias, -LARGEST), LARGEST)
