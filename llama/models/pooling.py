"""One vector for a whole text, out of the hidden states of its tokens."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from llama.errors import NotSupported
from llama.models.weights import Weights

Floats = NDArray[np.float32]
Dense = tuple[Floats, Floats | None]


@dataclass(frozen=True, slots=True)
class PoolingHead:
    """Small dense layers after pooling; empty for most models.

    cls, cls_out      rank: a tanh layer and the scores (rerankers)
    dense             embeddings: linear layers, one after the other (sentence transformers)
    """

    cls: Dense | None = None
    cls_out: Dense | None = None
    dense: tuple[Floats, ...] = ()


def read_head(w: Weights) -> PoolingHead:
    """The layers that the file has."""
    dense = tuple(t.floats() for name in ("dense_2.weight", "dense_3.weight") if (t := w.get(name)) is not None)
    return PoolingHead(_dense(w, "cls"), _dense(w, "cls.output"), dense)


def _dense(w: Weights, name: str) -> Dense | None:
    weight, bias = w.get(f"{name}.weight"), w.get(f"{name}.bias")
    if weight is None:
        return None
    return weight.floats(), None if bias is None else bias.floats().reshape(-1)


def pool(hidden: Floats, kind: str, head: PoolingHead) -> Floats:
    """The vector of one sequence.   hidden: (T, n_embd)   ->   (n_embd,), not normalised; for "rank": the scores.

    kind: "mean", "cls" (the first token), "last", or "rank" (the first token through the classifier). Raises
    NotSupported for "none", which has no single vector, and for "rank" with a model that has no classifier.
    """
    if kind == "rank":
        return _rank(hidden[0], head)
    if kind not in _POOL:
        raise NotSupported(f"pooling must be one of {', '.join(_POOL)} to give one vector, this model has {kind}")
    vector = _POOL[kind](hidden)
    for matrix in head.dense:
        vector = matrix @ vector
    return np.asarray(vector, np.float32)


_POOL = {
    "mean": lambda hidden: hidden.mean(axis=0),
    "cls": lambda hidden: hidden[0],
    "last": lambda hidden: hidden[-1],
}


def _rank(vector: Floats, head: PoolingHead) -> Floats:
    if head.cls is None and head.cls_out is None:
        raise NotSupported("this model has no classifier, so it cannot rank")
    if head.cls is not None:
        vector = _apply(head.cls, vector)
        vector = np.tanh(vector) if head.cls_out is not None else vector
    if head.cls_out is not None:
        vector = _apply(head.cls_out, vector)
    return np.asarray(vector, np.float32)


def _apply(layer: Dense, vector: Floats) -> Floats:
    weight, bias = layer
    return np.asarray(weight @ vector + (0 if bias is None else bias), np.float32)
