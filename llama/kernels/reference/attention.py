"""Rotation by position, and attention over the cache.   T rows, H heads, K kv heads, D head size."""

import numpy as np
from numpy.typing import NDArray

from llama.kernels.graph import Attention, Node, Rope
from llama.kernels.reference.rows import softmax_rows
from llama.kernels.reference.step import Floats, Step, attribute, operation, segments


@operation
def rope(step: Step, node: Node) -> Floats:
    """Pairs of columns turned by position times frequency."""
    x, r = step.input(node), attribute(node, "rope")
    heads = segments(x, r.head).copy()
    first, second = _pairs(r)
    angles = step.positions()[:, None] * r.frequencies  # (T, n_rot / 2), float64
    cos = (np.cos(angles) * r.magnitude).astype(np.float32)[:, None]
    sin = (np.sin(angles) * r.magnitude).astype(np.float32)[:, None]
    a, b = heads[:, :, first], heads[:, :, second]
    heads[:, :, first] = a * cos - b * sin
    heads[:, :, second] = a * sin + b * cos
    return heads.reshape(x.shape)


def _pairs(r: Rope) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    half = np.arange(len(r.frequencies))
    if r.neighbours:
        return r.first + 2 * half, r.first + 2 * half + 1
    return r.first + half, r.first + half + len(half)


@operation
def attention(step: Step, node: Node) -> Floats:
    """Store the new keys and values, then let every token look at those it may see."""
    a: Attention = attribute(node, "attention")
    q, *kv = step.inputs(node)
    cache = step.memory.layers[a.cache]
    out = np.empty((len(q), node.width), np.float32)
    sinks = None if a.sinks is None else step.weights.floats(a.sinks).reshape(-1)
    for s, rows, first in step.sequences():
        table = step.batch.blocks[s]
        if kv:
            cache.append(table, first, kv[0][rows], kv[1][rows])
        n = first + rows.stop - rows.start
        keys, values = cache.read(table, n)
        for i, row in enumerate(range(rows.start, rows.stop), start=first):
            low, high = visible(a, i, n)
            out[row] = _look(a, q[row], keys[:, low:high], values[:, low:high], i - np.arange(low, high), sinks)
    return out


def visible(a: Attention, i: int, n: int) -> tuple[int, int]:
    """The range of positions that position i of a sequence of n sees."""
    low, high = 0, i + 1 if a.causal else n
    if a.window and a.symmetric:
        half = a.window // 2
        low, high = max(low, i - half), min(high, i + half + 1)
    elif a.window:
        low = max(low, i - a.window + 1)
    if a.chunk:
        low = max(low, i // a.chunk * a.chunk)
        high = min(high, (i // a.chunk + 1) * a.chunk)
    return low, high


def _look(
    a: Attention, q: Floats, keys: Floats, values: Floats, distance: NDArray[np.int64], sinks: Floats | None
) -> Floats:
    """One token's queries over its visible keys.   q: (H * D,)   keys: (K, S, D)   ->   (H * Dv,)"""
    queries = q.reshape(a.n_head_kv, -1, a.head_k)  # (K, H / K, D)
    scores = (queries @ keys.transpose(0, 2, 1)) * np.float32(a.scale)
    scores = scores.reshape(a.n_head, -1)  # (H, S)
    if a.softcap:
        scores = np.float32(a.softcap) * np.tanh(scores / np.float32(a.softcap))
    if a.slopes:
        scores = scores - np.asarray(a.slopes, np.float32)[:, None] * np.abs(distance).astype(np.float32)
    weights = softmax_rows(scores) if sinks is None else _softmax_with_sinks(scores, sinks)
    mixed = weights.reshape(a.n_head_kv, -1, weights.shape[1]) @ values  # (K, H / K, Dv)
    return mixed.reshape(-1)


def _softmax_with_sinks(scores: Floats, sinks: Floats) -> Floats:
    """Softmax where each head has one more score that takes its share and gives nothing."""
    return softmax_rows(np.concatenate([scores, sinks[:, None]], axis=1))[:, :-1]
