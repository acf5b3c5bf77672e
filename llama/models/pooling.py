"""One vector for a whole text, out of the hidden states of its tokens."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from llama.errors import NotSupported
from llama.models.hparams import POOLING, HParams
from llama.models.weights import Weights

Floats = NDArray[np.float32]
Dense = tuple[Floats, Floats | None]


@dataclass(frozen=True, slots=True)
class PoolingHead:
    """Small dense layers after pooling; empty for most models.

    cls, cls_norm, cls_out   rank: a layer with an activation, a LayerNorm's weights, the scores (rerankers)
    rank_of                  rank: the vector that the classifier reads, "cls", "mean" or "last"
    gelu, softmax            rank: GELU in place of tanh; the scores become probabilities
    dense                    embeddings: linear layers, one after the other (sentence transformers)
    """

    cls: Dense | None = None
    cls_norm: Floats | None = None
    cls_out: Dense | None = None
    rank_of: str = "cls"
    gelu: bool = False
    softmax: bool = False
    dense: tuple[Dense, ...] = ()


def read_head(h: HParams, w: Weights) -> PoolingHead:
    """The layers that the file has, used as llama.cpp uses them for this architecture."""
    norm = w.get("cls.norm.weight")
    modern, qwen = h.architecture == "modern-bert", h.architecture in ("qwen3", "qwen3vl")
    stated = h.keys.integer("classifier.pooling_type", POOLING.index("mean" if modern else "last" if qwen else "cls"))
    return PoolingHead(
        cls=_dense(w, "cls"),
        cls_norm=None if norm is None else norm.floats().reshape(-1),
        cls_out=_dense(w, "cls.output"),
        rank_of="mean" if stated == POOLING.index("mean") else "last" if qwen else "cls",
        gelu=modern,
        softmax=qwen,
        dense=tuple(layer for name in ("dense_2", "dense_3") if (layer := _dense(w, name)) is not None),
    )


def _dense(w: Weights, name: str) -> Dense | None:
    weight, bias = w.get(f"{name}.weight"), w.get(f"{name}.bias")
    if weight is None:
        return None
    return weight.floats(), None if bias is None else bias.floats().reshape(-1)


def pool(hidden: Floats, kind: str, head: PoolingHead) -> Floats:
    """The vector of one sequence.   hidden: (T, n_embd)   ->   (n_embd,), not normalised; for "rank": the scores.

    kind: "mean", "cls" (the first token), "last", or "rank" (one of these through the classifier). Raises
    NotSupported for "none", which has no single vector, and for "rank" with a model that has no classifier.
    """
    if kind == "rank":
        return _rank(_POOL[head.rank_of](hidden), head)
    if kind not in _POOL:
        raise NotSupported(f"pooling must be one of {', '.join(_POOL)} to give one vector, this model has {kind}")
    vector = _POOL[kind](hidden)
    for layer in head.dense:
        vector = _apply(layer, vector)
    return np.asarray(vector, np.float32)


_POOL: dict[str, Callable[[Floats], Floats]] = {
    "mean": lambda hidden: np.asarray(hidden.mean(axis=0)),
    "cls": lambda hidden: hidden[0],
    "last": lambda hidden: hidden[-1],
}


def _rank(vector: Floats, head: PoolingHead) -> Floats:
    if head.cls is None and head.cls_out is None:
        raise NotSupported("this model has no classifier, so it cannot rank")
    if head.cls is not None:
        vector = _apply(head.cls, vector)
        vector = _gelu(vector) if head.gelu else np.tanh(vector)
        if head.cls_norm is not None:
            vector = (vector - vector.mean()) / np.sqrt(vector.var() + np.float32(1e-5)) * head.cls_norm
    if head.cls_out is not None:
        vector = _apply(head.cls_out, vector)
    if head.softmax:
        vector = np.exp(vector - vector.max())
        vector = vector / vector.sum()
    return np.asarray(vector, np.float32)


def _gelu(x: Floats) -> Floats:
    """The tanh form."""
    return np.asarray(0.5 * x * (1 + np.tanh(0.7978845608028654 * x * (1 + 0.044715 * x * x))), np.float32)


def _apply(layer: Dense, vector: Floats) -> Floats:
    weight, bias = layer
    return np.asarray(weight @ vector + (0 if bias is None else bias), np.float32)
