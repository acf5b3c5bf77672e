"""Operations on single elements, and those that only move columns."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llama.kernels.graph import Node
from llama.kernels.reference.step import Floats, Step, attribute, operation, weight


def sigmoid(x: Floats) -> Floats:
    """1 / (1 + exp(-x)), without overflow."""
    return np.asarray(np.float32(0.5) * (np.tanh(np.float32(0.5) * x) + np.float32(1)), np.float32)


def softplus(x: Floats) -> Floats:
    """log(1 + exp(x)), and x itself above 20, as ggml has it."""
    return np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, np.float32(20)))))


def gelu(x: Floats) -> Floats:
    """The tanh form of GELU (Hendrycks and Gimpel, 2016)."""
    inner = np.float32(0.79788456080286535588) * x * (np.float32(1) + np.float32(0.044715) * x * x)
    return np.asarray(np.float32(0.5) * x * (np.float32(1) + np.tanh(inner)), np.float32)


def gelu_erf(x: Floats) -> Floats:
    """GELU by the error function (Abramowitz and Stegun 7.1.26 in float64, absolute error 1.5e-7)."""
    z = np.abs(x.astype(np.float64)) * 0.70710678118654752440
    t = 1 / (1 + 0.3275911 * z)
    poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    erf = np.sign(x) * (1 - poly * np.exp(-z * z))
    return np.asarray(0.5 * x * (1 + erf), np.float32)


UNARY: dict[str, Callable[[Floats], Any]] = {
    "silu": lambda x: x * sigmoid(x),
    "gelu": gelu,
    "gelu_erf": gelu_erf,
    "gelu_quick": lambda x: x * sigmoid(np.float32(1.702) * x),
    "relu": lambda x: np.maximum(x, np.float32(0)),
    "relu2": lambda x: np.square(np.maximum(x, np.float32(0))),
    "sigmoid": sigmoid,
    "tanh": np.tanh,
    "exp": np.exp,
    "softplus": softplus,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "neg": np.negative,
}
BINARY: dict[str, Callable[[Floats, Floats], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "max": np.maximum,
}


@operation
def unary(step: Step, node: Node) -> Floats:
    """f of every element."""
    return np.asarray(UNARY[attribute(node, "f")](step.input(node)), np.float32)


@operation
def binary(step: Step, node: Node) -> Floats:
    """Element by element; a narrower second operand is stretched."""
    a, b = step.inputs(node)
    if b.shape[1] < a.shape[1]:
        b = np.repeat(b, a.shape[1] // b.shape[1], axis=1)
    return np.asarray(BINARY[attribute(node, "f")](a, b), np.float32)


@operation
def vector(step: Step, node: Node) -> Floats:
    """Every row combined with the same weights, tiled to its width."""
    x, w = step.input(node), step.weights.floats(weight(node)).reshape(-1)
    return np.asarray(BINARY[attribute(node, "f")](x, np.tile(w, x.shape[1] // len(w))), np.float32)


@operation
def gate(step: Step, node: Node) -> Floats:
    """f(g) * u."""
    g, u = step.inputs(node)
    return np.asarray(UNARY[attribute(node, "f")](g), np.float32) * u


@operation
def scale(step: Step, node: Node) -> Floats:
    """x * factor + offset."""
    return step.input(node) * np.float32(attribute(node, "factor")) + np.float32(attribute(node, "offset"))


@operation
def softcap(step: Step, node: Node) -> Floats:
    """cap * tanh(x / cap)."""
    cap = np.float32(attribute(node, "cap"))
    return np.asarray(cap * np.tanh(step.input(node) / cap), np.float32)


@operation
def clamp(step: Step, node: Node) -> Floats:
    """min(max(x, low), high)."""
    return np.clip(step.input(node), np.float32(attribute(node, "low")), np.float32(attribute(node, "high")))


@operation
def columns(step: Step, node: Node) -> Floats:
    """A range of columns."""
    start = attribute(node, "start")
    return np.ascontiguousarray(step.input(node)[:, start : start + node.width])


@operation
def gather(step: Step, node: Node) -> Floats:
    """Columns in any order."""
    return np.ascontiguousarray(step.input(node)[:, attribute(node, "order")])


@operation
def concat(step: Step, node: Node) -> Floats:
    """The parts side by side."""
    return np.concatenate(step.inputs(node), axis=1)


@operation
def select(step: Step, node: Node) -> Floats:
    """Only the wanted rows."""
    return step.input(node)[step.batch.outputs]


@operation
def embed(step: Step, node: Node) -> Floats:
    """A row of the table for each token."""
    table = weight(node)
    index: NDArray[np.int64] = {
        "token": step.batch.tokens.astype(np.int64),
        "position": step.positions(),
        "zero": np.zeros(len(step.batch.tokens), np.int64),
    }[attribute(node, "index")]
    return step.weights.rows(table, index)
