"""Temperature, fixed and dynamic: how much likelier the likely tokens are."""

import numpy as np

from llama.kernels import select
from llama.sampling.candidates import Candidates, only, total

COLDEST = 1e-20  # below, only the largest logit has a chance anyway, and dividing might overflow


def temperature(candidates: Candidates, t: float) -> Candidates:
    """Logits divided by `t`; at 0 and below only the first of the largest logits can be picked."""
    if t < COLDEST:
        return only(candidates, select.argmax(candidates.logits))
    return Candidates(candidates.ids, candidates.logits / np.float32(t), candidates.in_order)


def dynamic(candidates: Candidates, t: float, spread: float, exponent: float) -> Candidates:
    """Temperature between t - spread and t + spread: the flatter the distribution, the hotter.

    https://github.com/ggml-org/llama.cpp/pull/4972
    """
    if len(candidates.ids) <= 1:
        return candidates
    candidates = candidates.sorted()
    probabilities = candidates.probabilities()
    likely = probabilities[probabilities > 0]
    entropy = max(float(-total(likely * np.log(likely))), 0.0)
    share = entropy / float(np.log(np.float32(len(candidates.ids))))
    coldest, hottest = max(0.0, t - spread), t + spread
    heat: float = 1.0 if share == 0 and exponent <= 0 else share**exponent
    return temperature(candidates, coldest + (hottest - coldest) * heat)
