"""Operations on the segments of a row: norms, softmax, sums."""

import numpy as np

from llama.kernels.graph import Node
from llama.kernels.reference.step import Floats, Step, attribute, operation, segments


def softmax_rows(x: Floats) -> Floats:
    """Softmax along the last axis."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True), np.float32)


@operation
def norm(step: Step, node: Node) -> Floats:
    """Each segment normed on its own, then weighted and shifted."""
    x, kind = step.input(node), attribute(node, "kind")
    parts = segments(x, attribute(node, "size"))
    eps = np.float32(attribute(node, "eps"))
    if kind == "layer":
        parts = parts - parts.mean(axis=2, keepdims=True)
    squares = np.square(parts)
    if kind == "l2":
        y = parts / np.maximum(np.sqrt(squares.sum(axis=2, keepdims=True)), eps)
    else:
        y = parts / np.sqrt(squares.mean(axis=2, keepdims=True) + eps)
    return _weighted(step, node, np.asarray(y, np.float32), x.shape)


def _weighted(step: Step, node: Node, y: Floats, shape: tuple[int, ...]) -> Floats:
    weight, bias = node.weights
    if weight is not None:
        y = y * step.weights.floats(weight).reshape(-1, y.shape[2])
    if bias is not None:
        y = y + step.weights.floats(bias).reshape(-1, y.shape[2])
    return y.reshape(shape)


@operation
def softmax(step: Step, node: Node) -> Floats:
    """Softmax of each segment."""
    x = step.input(node)
    return softmax_rows(segments(x, attribute(node, "size"))).reshape(x.shape)


@operation
def reduce(step: Step, node: Node) -> Floats:
    """Sum, mean or standard deviation of each segment."""
    x = step.input(node)
    parts = segments(x, attribute(node, "size"))
    kind = attribute(node, "kind")
    result = parts.std(axis=2, ddof=1) if kind == "std" else getattr(parts, kind)(axis=2)
    return np.asarray(result, np.float32)
