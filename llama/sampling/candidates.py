"""The tokens that may still be picked, with their logits: what every filter takes and gives back."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from llama.kernels import select

Floats = NDArray[np.float32]
FLOAT_MAX = float(np.finfo(np.float32).max)
NEVER = np.float32(-np.inf)


class Candidates(NamedTuple):
    """N tokens. ids and logits: (N,), never written to by whoever receives them.

    in_order: largest logit first. Otherwise the order is that of the ids, or what an earlier filter left.
    whole: nothing was dropped or moved yet, so that token i stands at place i.
    """

    ids: NDArray[np.int32]
    logits: Floats
    in_order: bool = False
    whole: bool = False

    def sorted(self) -> "Candidates":
        """The same tokens, largest logit first; the earlier one first on ties."""
        return self if self.in_order else self.best(len(self.ids))

    def best(self, k: int) -> "Candidates":
        """The `k` tokens with the largest logits, in order."""
        if self.in_order:
            return self if k >= len(self.ids) else Candidates(self.ids[:k], self.logits[:k], True)
        places, logits = select.top_k(self.logits, k)
        return Candidates(self.ids[places], logits, True)

    def first(self, n: int) -> "Candidates":
        """The first `n` tokens of the present order."""
        return Candidates(self.ids[:n], self.logits[:n], self.in_order)

    def places(self, ids: NDArray[np.int32]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Where the given tokens stand here: places, and for each its index into `ids`. Absent ones are left out."""
        if self.whole:
            here = np.flatnonzero((ids >= 0) & (ids < len(self.ids)))
            return ids[here].astype(np.intp), here
        order = np.argsort(self.ids, kind="stable")
        at = np.minimum(np.searchsorted(self.ids, ids, sorter=order), len(order) - 1)
        known = np.flatnonzero(self.ids[order[at]] == ids)
        return order[at[known]], known

    def changed(self, places: NDArray[np.intp], logits: Floats) -> "Candidates":
        """The same tokens with new logits at some places; the order is no longer known."""
        copy = self.logits.copy()
        copy[places] = logits
        return Candidates(self.ids, copy, whole=self.whole)

    def weights(self) -> Floats:
        """exp(logit - largest logit): probabilities before they are divided by their sum. Never all zero, never NaN."""
        logits = self.logits
        top = logits[0] if self.in_order else logits.max()
        if not np.isfinite(top):
            logits = np.nan_to_num(logits, nan=-np.inf, posinf=FLOAT_MAX, neginf=-np.inf)
            top = logits.max()
            if top == NEVER:
                return one_hot(len(logits), 0)
        weights: Floats = np.exp(logits - top)
        return weights

    def probabilities(self) -> Floats:
        """Softmax of the logits."""
        weights = self.weights()
        return weights / total(weights)


def total(values: Floats) -> np.float32:
    """The sum, added one after the other in float32 as llama.cpp does: thresholds then fall on the same token."""
    result: np.float32 = values.cumsum()[-1]
    return result


def one_hot(n: int, place: int) -> Floats:
    """1 at `place`, 0 elsewhere."""
    values = np.zeros(n, np.float32)
    values[place] = 1
    return values


def only(candidates: Candidates, place: int) -> Candidates:
    """All candidates stay, but only the one at `place` can be picked."""
    logits = np.full(len(candidates.logits), NEVER)
    logits[place] = candidates.logits[place]
    return Candidates(candidates.ids, logits, candidates.in_order and place == 0)
