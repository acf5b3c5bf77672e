"""Products with weight matrices, one for all tokens or one an expert."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from llama.kernels.graph import Node, Routing
from llama.kernels.reference.elements import sigmoid
from llama.kernels.reference.rows import softmax_rows
from llama.kernels.reference.step import Floats, Step, attribute, operation, product, segments, weight
from llama.kernels.tensor import Tensor

#: Below this a sum of expert weights counts as this: the smallest normal half-precision number, as in llama.cpp.
SMALLEST_SUM = np.float32(6.103515625e-5)

_GATES: dict[str, Callable[[Floats], Floats]] = {"softmax": softmax_rows, "sigmoid": sigmoid, "none": lambda x: x}


@operation
def linear(step: Step, node: Node) -> Floats:
    """x @ w.T + bias."""
    x, w = step.input(node), weight(node)
    out = np.empty((len(x), node.width), np.float32)
    for start, values in step.weights.chunks(w):
        out[:, start : start + len(values)] = product(x, values)
    return _biased(step, out, node.weights[1])


@operation
def head_linear(step: Step, node: Node) -> Floats:
    """Each head its own matrix."""
    w = step.weights.floats(weight(node))  # (H, out, in)
    x = segments(step.input(node), w.shape[2])
    out = np.stack([product(np.ascontiguousarray(x[:, h]), w[h]) for h in range(len(w))], axis=1)
    return out.reshape(len(x), node.width)


@operation
def route(step: Step, node: Node) -> Floats:
    """The ids of the chosen experts, then their weights."""
    routing: Routing = attribute(node, "routing")
    logits = step.input(node)
    probabilities = _GATES[routing.gate](logits)
    scores = probabilities if routing.bias is None else probabilities + step.weights.floats(routing.bias).reshape(-1)
    if routing.groups > 1:
        scores = _within_best_groups(scores, routing)
    chosen = np.argsort(-scores, axis=1, kind="stable")[:, : routing.n_used]
    weights = np.take_along_axis(probabilities, chosen, axis=1)
    if routing.softmax_chosen:
        weights = softmax_rows(weights)
    if routing.sigmoid_chosen:
        weights = sigmoid(weights)
    if routing.normalise:
        weights = weights / np.maximum(weights.sum(axis=1, keepdims=True), SMALLEST_SUM)
    return np.concatenate([chosen.astype(np.float32), weights * np.float32(routing.scale)], axis=1)


def _within_best_groups(scores: Floats, routing: Routing) -> Floats:
    """Scores with -inf outside the best groups; a group counts as much as its two best experts."""
    grouped = segments(scores, routing.n_expert // routing.groups)
    totals = np.sort(grouped, axis=2)[:, :, -2:].sum(axis=2)
    best = np.argsort(-totals, axis=1, kind="stable")[:, : routing.groups_used]
    kept = np.zeros(totals.shape, bool)
    np.put_along_axis(kept, best, True, axis=1)
    return np.where(kept[:, :, None], grouped, np.float32(-np.inf)).reshape(scores.shape)


@operation
def expert_linear(step: Step, node: Node) -> Floats:
    """Each of the K slots goes through the expert chosen for it."""
    x, routed = step.inputs(node)
    w, bias = weight(node), node.weights[1]
    chosen = _chosen(routed)  # (T, K)
    slots = segments(x, w.shape[2])  # (T, 1 or K, in)
    out = np.empty((*chosen.shape, w.shape[1]), np.float32)
    for expert in np.unique(chosen):
        token, slot = np.nonzero(chosen == expert)
        rows = slots[token, slot if slots.shape[1] > 1 else 0]
        out[token, slot] = product(rows, step.weights.matrix(w, int(expert)))
    if bias is not None:
        out += step.weights.floats(bias)[chosen]
    return out.reshape(len(x), node.width)


@operation
def expert_sum(step: Step, node: Node) -> Floats:
    """The K slots, weighted and added up in their order."""
    x, routed = step.inputs(node)
    k = routed.shape[1] // 2
    slots = segments(x, x.shape[1] // k) * routed[:, k:, None]
    total = slots[:, 0].copy()
    for slot in range(1, k):
        total += slots[:, slot]
    return total


def _chosen(routed: Floats) -> NDArray[np.int64]:
    return routed[:, : routed.shape[1] // 2].astype(np.int64)


def _biased(step: Step, out: Floats, bias: Tensor | None) -> Floats:
    return out if bias is None else out + step.weights.floats(bias).reshape(-1)
