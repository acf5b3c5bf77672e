"""Filters that drop unlikely tokens, or in one case the likeliest. Formulas as in llama.cpp's sampler of each name."""

import numpy as np

from llama.sampling.candidates import NEVER, Candidates, Floats, total

LOOKS = (256, 4096, 32768)  # top_p sorts so many candidates first; mostly they are enough


def top_k(candidates: Candidates, k: int) -> Candidates:
    """The `k` largest logits, in order; everything when k <= 0."""
    return candidates.best(k) if k > 0 else candidates


def top_p(candidates: Candidates, p: float, min_keep: int = 0) -> Candidates:
    """The likeliest tokens until their probabilities reach `p`, but at least one and at least `min_keep`."""
    if p >= 1:
        return candidates
    if candidates.in_order:
        return candidates.first(_enough(candidates.probabilities(), p, min_keep))
    whole = total(candidates.weights())
    for k in (*LOOKS, len(candidates.ids)):
        best = candidates.best(k)
        n = _enough(best.weights() / whole, p, min_keep)
        if n < len(best.ids) or k >= len(candidates.ids):
            break
    return best.first(n)


def _enough(probabilities: Floats, p: float, min_keep: int) -> int:
    """How many to keep so that their sum reaches `p`."""
    n = int(probabilities.cumsum().searchsorted(np.float32(p))) + 1
    return min(max(n, min_keep, 1), len(probabilities))


def min_p(candidates: Candidates, p: float, min_keep: int = 0) -> Candidates:
    """The tokens at least `p` times as likely as the likeliest, but at least `min_keep`."""
    if p <= 0:
        return candidates
    top = candidates.logits[0] if candidates.in_order else candidates.logits.max()
    if top == NEVER:
        return candidates
    fits = candidates.logits >= top + np.log(np.float32(p))
    n = int(np.count_nonzero(fits))
    if candidates.in_order:
        return candidates.first(max(n, min_keep, 1))
    if n and n >= min_keep:
        return Candidates(candidates.ids[fits], candidates.logits[fits])
    return candidates.best(max(n, min_keep, 1))


def typical(candidates: Candidates, p: float, min_keep: int = 0) -> Candidates:
    """The tokens whose surprise is closest to the mean surprise, until their probabilities exceed `p`."""
    if p >= 1:
        return candidates
    candidates = candidates.sorted()
    probabilities = candidates.probabilities()
    possible = probabilities > 0
    surprise = np.full(len(probabilities), np.inf, np.float32)
    surprise[possible] = -np.log(probabilities[possible])
    entropy = total(probabilities[possible] * surprise[possible])
    order = np.argsort(np.abs(surprise - entropy), kind="stable")
    n = int(probabilities[order].cumsum().searchsorted(np.float32(p), side="right")) + 1
    kept = order[: max(n, min_keep, 1)]
    return Candidates(candidates.ids[kept], candidates.logits[kept])


def top_n_sigma(candidates: Candidates, n: float) -> Candidates:
    """Tokens more than `n` standard deviations below the largest logit become impossible; they are not removed."""
    if n <= 0 or len(candidates.ids) <= 1:
        return candidates
    finite = candidates.logits[np.isfinite(candidates.logits)]
    if not len(finite):
        return candidates
    least = float(finite.max()) - n * float(finite.std(dtype=np.float64))
    logits = np.where(candidates.logits < least, NEVER, candidates.logits)
    return Candidates(candidates.ids, logits, candidates.in_order)


def xtc(candidates: Candidates, threshold: float, min_keep: int = 0) -> Candidates:
    """Drops the likeliest tokens, all but the least likely of those that reach `threshold`."""
    candidates = candidates.sorted()
    n = int(np.count_nonzero(candidates.probabilities() >= np.float32(threshold))) - 1
    if n <= 0 or len(candidates.ids) - n < min_keep:
        return candidates
    return Candidates(candidates.ids[n:], candidates.logits[n:], True)
