"""Picks out of a row of logits: the largest, the k largest in order, those of a mask; and finds repeats in a text.

The loops are compiled by numba where it is installed; otherwise numpy, or plain Python, gives the same results.
A logit that is not a number counts as minus infinity.
"""

import numpy as np
from numpy.typing import NDArray

from llama.jit import COMPILES, compiled

BLOCK = 64  # logits looked at together: only a block with a large one is looked at one by one
FEW = 1024  # for more than so many numpy's sort beats a heap


def argmax(logits: NDArray[np.float32]) -> int:
    """The index of the largest logit, the first one on ties."""
    best = int(logits.argmax())
    if np.isnan(logits[best]):
        best = int(np.nan_to_num(logits, nan=-np.inf, posinf=np.inf, neginf=-np.inf).argmax())
    return best


def log_sum_exp(logits: NDArray[np.float32]) -> float:
    """ln(sum(exp(logits))), so that `logits - log_sum_exp(logits)` are log-probabilities."""
    top = float(logits[argmax(logits)])
    if not np.isfinite(top):
        return top
    return top + float(np.log(np.nansum(np.exp(logits - np.float32(top)))))


def top_k(logits: NDArray[np.float32], k: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The `k` largest logits, or all if there are fewer: indices and values, largest first, the lower index on ties."""
    k = min(k, len(logits))
    if not COMPILES or k > FEW:
        return _top_k_sorted(logits, k)
    ids, values = np.empty(k, np.int32), np.empty(k, np.float32)
    _top_k_heap(logits, ids, values)
    return ids, values


def masked(logits: NDArray[np.float32], mask: NDArray[np.bool_]) -> NDArray[np.float32]:
    """The logits, with minus infinity where the mask, which is as long, is False."""
    if not COMPILES:
        return np.where(mask, logits, np.float32(-np.inf))
    result = np.empty_like(logits)
    _mask(logits, mask, result)
    return result


@compiled
def _mask(logits: NDArray[np.float32], mask: NDArray[np.bool_], result: NDArray[np.float32]) -> None:
    """Fills `result`. Ten times as fast as numpy's `where` for a mask without pattern."""
    for i in range(len(logits)):
        result[i] = logits[i] if mask[i] else np.float32(-np.inf)


def _top_k_sorted(logits: NDArray[np.float32], k: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """`top_k` by partition and stable sort."""
    if np.isnan(logits).any():
        logits = np.where(np.isnan(logits), np.float32(-np.inf), logits)
    ids = np.arange(len(logits), dtype=np.int32)
    if k < len(logits):
        least = np.partition(logits, len(logits) - k)[len(logits) - k] if k else np.float32(np.inf)
        above = np.flatnonzero(logits > least)
        equal = np.flatnonzero(logits == least)[: k - len(above)]
        ids = np.sort(np.concatenate((above, equal))).astype(np.int32)
    ids = ids[np.argsort(-logits[ids], kind="stable")]
    return ids, logits[ids]


@compiled
def _sink(ids: NDArray[np.int32], values: NDArray[np.float32], n: int) -> None:
    """Restores a heap of `n` entries, the worst on top, after its top was replaced."""
    value, id = values[0], ids[0]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= n:
            break
        if child + 1 < n and (
            values[child + 1] < values[child] or (values[child + 1] == values[child] and ids[child + 1] > ids[child])
        ):
            child += 1
        if values[child] > value or (values[child] == value and ids[child] < id):
            break
        values[at], ids[at] = values[child], ids[child]
        at = child
    values[at], ids[at] = value, id


@compiled
def _any_above(block: NDArray[np.float32], least: float) -> bool:
    """True if a logit of the block is above `least`. Branchless, and bytes, so that it becomes vector code."""
    found = np.uint8(0)
    for i in range(len(block)):
        found |= np.uint8(block[i] > least)
    return bool(found != 0)


@compiled
def _top_k_heap(logits: NDArray[np.float32], ids: NDArray[np.int32], values: NDArray[np.float32]) -> None:
    """Fills `ids` and `values` with the largest logits, largest first, keeping a heap of the best so far."""
    n, k = len(logits), len(ids)
    if k == 0:
        return
    for i in range(k):  # stand-ins that any logit beats, minus infinity too
        values[i], ids[i] = -np.inf, n + k - i
    for start in range(0, n, BLOCK):
        block = logits[start : start + BLOCK]
        if start < k or _any_above(block, values[0]):
            for i in range(len(block)):
                value = block[i] if block[i] == block[i] else np.float32(-np.inf)
                if value > values[0] or ids[0] >= n:
                    values[0], ids[0] = value, start + i
                    _sink(ids, values, k)
    for last in range(k - 1, 0, -1):  # the worst goes to the end, again and again
        value, id = values[0], ids[0]
        values[0], ids[0] = values[last], ids[last]
        _sink(ids, values, last)
        values[last], ids[last] = value, id


@compiled
def repeats(tokens: NDArray[np.int32], limit: int) -> NDArray[np.int32]:
    """How long the text's own end is repeated before each earlier place (Z-algorithm on the reversed text).

    tokens: (n,), newest first. Entry k counts how many of tokens[k:] equal tokens[0:], at most `limit`; entry 0 is 0.
    """
    n = len(tokens)
    lengths = np.zeros(n, np.int32)
    left, right = 0, 0  # the match that reaches furthest is tokens[left:right]
    for k in range(1, n):
        length = 0
        if k < right:
            length = min(lengths[k - left], right - k)
        while k + length < n and tokens[length] == tokens[k + length]:
            length += 1
        lengths[k] = length
        if k + length > right:
            left, right = k, k + length
    return np.minimum(lengths, limit).astype(np.int32)
