"""The probabilities that are reported to the user, beside the sampling itself."""

import numpy as np
from numpy.typing import NDArray

from llama.kernels import select
from llama.sampling.candidates import Floats

Ranked = tuple[tuple[int, float], ...]
LOWEST = float(np.finfo(np.float32).min)  # in place of minus infinity, which JSON cannot carry


def raw_logprobs(logits: Floats, token: int, n: int) -> tuple[float, Ranked]:
    """The log-probability of `token` by the softmax of `logits`, and the `n` most probable tokens, best first."""
    whole = select.log_sum_exp(logits)
    ids, values = select.top_k(logits, n) if n > 0 else (np.empty(0, np.int32), np.empty(0, np.float32))
    top = tuple((int(id), _finite(float(value) - whole)) for id, value in zip(ids, values, strict=True))
    return _finite(float(logits[token]) - whole), top


def most_probable(ids: NDArray[np.int32], probabilities: Floats, n: int) -> Ranked:
    """The `n` most probable of `ids`, best first; those with probability 0 are left out."""
    if n <= 0:
        return ()
    places, values = select.top_k(probabilities, n)
    return tuple((int(ids[place]), float(p)) for place, p in zip(places, values, strict=True) if p > 0)


def _finite(logprob: float) -> float:
    return logprob if logprob > LOWEST else LOWEST
