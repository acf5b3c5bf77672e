"""The infill sampler: ends early, and settles on a token only if it is clearly the likeliest way to go on.

https://github.com/ggml-org/llama.cpp/pull/9896
"""

import numpy as np

from llama.sampling.candidates import Candidates, Floats
from llama.sampling.vocab import SamplingVocab

LIKELY = np.float32(0.2)
CONSIDERED = 256  # more candidates have no chance to pass, and all pairs are compared


def infill(candidates: Candidates, vocab: SamplingVocab) -> Candidates:
    """End tokens alone when the text is near its end; else the tokens that stay likely once spellings are merged."""
    candidates = candidates.sorted()
    probabilities = candidates.probabilities()
    ends = np.fromiter((id in vocab.eog for id in candidates.ids.tolist()), np.bool_, len(candidates.ids))
    ending = float(probabilities[ends].sum())
    if 3 * ending * len(candidates.ids) > float(probabilities[~ends].sum()):
        return _kept(candidates, ends)
    near = candidates.first(CONSIDERED)
    merged, ends = _merged(near, probabilities[:CONSIDERED].copy(), vocab), ends[:CONSIDERED]
    keep = ends | (merged >= LIKELY)
    n_texts = int(np.count_nonzero(keep & ~ends))
    if n_texts == 0:
        return _end(candidates, vocab)
    merged /= merged[keep].sum()
    return _kept(near, keep & (ends | (merged >= np.float32(1 / (n_texts + 1)))))


def _kept(candidates: Candidates, keep: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Candidates:
    return Candidates(candidates.ids[keep], candidates.logits[keep], candidates.in_order)


def _end(candidates: Candidates, vocab: SamplingVocab) -> Candidates:
    """The end token alone."""
    end = vocab.end if vocab.end is not None else min(vocab.eog, default=int(candidates.ids[0]))
    return Candidates(np.array([end], np.int32), np.ones(1, np.float32), True)


def _merged(candidates: Candidates, probabilities: Floats, vocab: SamplingVocab) -> Floats:
    """Where a token's text begins another's, the likelier of the two takes over the probability of both."""
    texts = [b"" if id in vocab.eog else vocab.pieces[id] for id in candidates.ids.tolist()]
    gone = [bool(logit == -np.inf) for logit in candidates.logits]
    for i, text in enumerate(texts):
        for j, other in enumerate(texts):
            if gone[i]:
                break
            if i != j and not gone[j] and text and other.startswith(text):
                winner, loser = (j, i) if probabilities[j] > probabilities[i] else (i, j)
                probabilities[winner] += probabilities[loser]
                probabilities[loser] = 0
                gone[loser] = True
    return probabilities
