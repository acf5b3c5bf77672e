"""A model as a list of operations. Architectures write it, executors read it.

Every value is a float32 matrix of one row a token (after `select`, one row a wanted output). An operation reads
earlier values and weights and makes one new value. What an operation means is said here and nowhere else;
`reference.py` says it again in numpy, `compiled.py` in machine code.

T rows, H heads, D head size, K experts chosen.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from llama.kernels.tensor import Tensor

Unary = Literal[
    "silu",
    "gelu",
    "gelu_erf",
    "gelu_quick",
    "relu",
    "relu2",
    "sigmoid",
    "tanh",
    "exp",
    "softplus",
    "abs",
    "sqrt",
    "neg",
]
Binary = Literal["add", "sub", "mul", "div", "max"]


@dataclass(frozen=True, slots=True)
class Value:
    """The result of an operation: its index in `Graph.nodes` and how many columns it has."""

    index: int
    width: int


@dataclass(frozen=True, slots=True, eq=False)
class Rope:
    """A rotation of some columns of each head: the angle of pair i at position p is p * frequencies[i].

    `neighbours` pairs columns (2i, 2i + 1), else (i, i + n_rot / 2), counted from `first` in the head, where
    n_rot = 2 * len(frequencies). Cosine and sine are both multiplied by `magnitude`. Scalings (linear, YaRN, llama3
    factors, longrope) are already in the frequencies.
    """

    head: int
    frequencies: NDArray[np.float64]
    neighbours: bool
    magnitude: float = 1.0
    first: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Attention:
    """How queries look at the cache. Query head h reads key and value head h // (n_head // n_head_kv).

    cache      which cache layer (from `Graph.cache`)
    scale      multiplies q . k
    softcap    c > 0: score = c * tanh(score / c), before the mask
    window     w > 0: position j is seen from i if i - j < w; `symmetric`: if |i - j| <= w // 2
    chunk      c > 0: j is seen from i only if i // c == j // c
    causal     False: every position of the same sequence is seen (encoders; the whole sequence is in one batch)
    slopes     ALiBi: slopes[h] * -|i - j| is added to the score, empty for none
    sinks      one more score per head that takes part in the softmax's denominator only
    n_head_kv, head_k, head_v   must agree with the cache layer
    """

    cache: int
    n_head: int
    n_head_kv: int
    head_k: int
    head_v: int
    scale: float
    softcap: float = 0.0
    window: int = 0
    symmetric: bool = False
    chunk: int = 0
    causal: bool = True
    slopes: tuple[float, ...] = ()
    sinks: Tensor | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Routing:
    """How experts are chosen from router logits (T, n_expert).

    gate        "softmax" | "sigmoid" | "none": logits -> probabilities
    n_used      experts a token goes to, the most probable first (ties: the lower id)
    bias        added to the probabilities for the choice only
    groups, groups_used   experts lie in equal groups; only the best groups stay (score: sum of the best two, bias
                included)
    softmax_chosen   weights are the softmax of the chosen logits (gate "none")
    normalise   weights are divided by their sum (clamped at 6.103515625e-5 from below, llama.cpp's F16 epsilon)
    scale       multiplies the weights
    sigmoid_chosen   weights are the sigmoid of the chosen logits (llama4; gate "none")
    """

    n_expert: int
    n_used: int
    gate: Literal["softmax", "sigmoid", "none"]
    normalise: bool = False
    scale: float = 1.0
    bias: Tensor | None = None
    groups: int = 1
    groups_used: int = 1
    softmax_chosen: bool = False
    sigmoid_chosen: bool = False


@dataclass(frozen=True, slots=True)
class CacheLayer:
    """Keys (n_head_kv, head_k) and values (n_head_kv, head_v) kept for each position of a sequence."""

    n_head_kv: int
    head_k: int
    head_v: int


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One operation. `op` is the name of the `Graph` method that made it; `attrs` are its other arguments."""

    op: str
    width: int
    inputs: tuple[int, ...] = ()
    weights: tuple[Tensor | None, ...] = ()
    attrs: dict[str, object] = field(default_factory=dict)


class Graph:
    """Built once for a model by its architecture; then read only."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.cache_layers: list[CacheLayer] = []
        self.state_sizes: list[int] = []  # floats a sequence keeps for each recurrent layer
        self.logits: Value | None = None
        self.hidden: Value | None = None

    def _add(
        self,
        op: str,
        width: int,
        inputs: Sequence[Value] = (),
        weights: Sequence[Tensor | None] = (),
        **attrs: object,
    ) -> Value:
        self.nodes.append(Node(op, width, tuple(v.index for v in inputs), tuple(weights), attrs))
        return Value(len(self.nodes) - 1, width)

    def cache(self, n_head_kv: int, head_k: int, head_v: int) -> int:
        """A new cache layer; returns its index."""
        self.cache_layers.append(CacheLayer(n_head_kv, head_k, head_v))
        return len(self.cache_layers) - 1

    def state(self, size: int) -> int:
        """A new recurrent state of `size` floats a sequence, zero at position 0; returns its index."""
        self.state_sizes.append(size)
        return len(self.state_sizes) - 1

    def finish(self, hidden: Value, logits: Value | None) -> None:
        """Name the results: hidden states after the last norm, and logits unless the model is an encoder."""
        self.hidden, self.logits = hidden, logits

    # --- sources ---

    def embed(self, table: Tensor, index: Literal["token", "position", "zero"] = "token") -> Value:
        """Row of `table` by the token's id, by its position, or row 0."""
        return self._add("embed", table.shape[-1], (), (table,), index=index)

    def select(self, x: Value) -> Value:
        """Only the rows that are wanted (Batch.outputs); everything computed from it has only those rows."""
        return self._add("select", x.width, (x,))

    # --- matrices ---

    def linear(self, x: Value, w: Tensor, bias: Tensor | None = None) -> Value:
        """x @ w.T + bias.   x: (T, in)   w: (out, in)   ->   (T, out)"""
        _check(w.shape[-1] == x.width, f"{w.name}: expected {x.width} columns, got {w.shape[-1]}")
        return self._add("linear", w.shape[0], (x,), (w, bias))

    def head_linear(self, x: Value, w: Tensor) -> Value:
        """Each head its own matrix.   x: (T, H * in)   w: (H, out, in)   ->   (T, H * out)"""
        heads, rows, columns = w.shape
        _check(heads * columns == x.width, f"{w.name}: expected {x.width} inputs, got {heads} x {columns}")
        return self._add("head_linear", heads * rows, (x,), (w,))

    def route(self, logits: Value, routing: Routing) -> Value:
        """(T, 2 * K): the ids of the chosen experts (as floats), then their weights."""
        return self._add("route", 2 * routing.n_used, (logits,), (routing.bias,), routing=routing)

    def expert_linear(self, x: Value, w: Tensor, chosen: Value, bias: Tensor | None = None) -> Value:
        """Slot k goes through expert chosen[k].   x: (T, in), or (T, K * in)   w: (E, out, in)   ->   (T, K * out)"""
        _check(w.shape[2] in (x.width, 2 * x.width // chosen.width), f"{w.name}: {w.shape[2]} columns, input {x.width}")
        return self._add("expert_linear", chosen.width // 2 * w.shape[1], (x, chosen), (w, bias))

    def expert_sum(self, x: Value, chosen: Value) -> Value:
        """Sum of the K slots, weighted.   x: (T, K * n)   ->   (T, n)"""
        return self._add("expert_sum", 2 * x.width // chosen.width, (x, chosen))

    # --- adapters ---

    def adapter_scales(self, adapters: Sequence[int], factors: Sequence[float]) -> Value:
        """(T, n): how strong each of these adapters is for the row's sequence (Batch.scales), times its factor."""
        ids, numbers = np.array(adapters, np.int32), np.array(factors, np.float32)
        return self._add("adapter_scales", len(ids), (), (), adapters=ids, factors=numbers)

    def adapted(self, y: Value, x: Value, scales: Value, a: Tensor, b: Tensor) -> Value:
        """y + ((x @ a.T) * scales) @ b.T.   a: (n * rank, in)   b: (out, n * rank)   scales: (T, n), stretched

        A row whose scales are all 0 keeps the bits of y.
        """
        _check(a.shape[1] == x.width and b.shape == (y.width, a.shape[0]), f"{a.name}: {a.shape}, {b.shape}")
        return self._add("adapted", y.width, (y, x, scales), (a, b))

    # --- rows ---

    def norm(
        self,
        x: Value,
        weight: Tensor | None,
        eps: float,
        *,
        kind: Literal["rms", "layer", "l2"] = "rms",
        bias: Tensor | None = None,
        size: int | None = None,
    ) -> Value:
        """Each segment of `size` columns (default: all) normed on its own.

        rms: x / sqrt(mean(x^2) + eps).  layer: (x - mean) / sqrt(var + eps).  l2: x / max(sqrt(sum(x^2)), eps).
        `weight` and `bias` have `size` elements, or one for every column.
        """
        return self._add("norm", x.width, (x,), (weight, bias), kind=kind, eps=eps, size=size or x.width)

    def rope(self, x: Value, rope: Rope) -> Value:
        """Each head of `rope.head` columns rotated by its token's position."""
        return self._add("rope", x.width, (x,), (), rope=rope)

    def attention(self, q: Value, k: Value | None, v: Value | None, attention: Attention) -> Value:
        """Put k and v into the cache (None: another filled the layer), then attend.   ->   (T, n_head * head_v)"""
        inputs = (q,) if k is None or v is None else (q, k, v)
        return self._add(
            "attention", attention.n_head * attention.head_v, inputs, (attention.sinks,), attention=attention
        )

    def softmax(self, x: Value, size: int | None = None) -> Value:
        """Softmax of each segment of `size` columns."""
        return self._add("softmax", x.width, (x,), (), size=size or x.width)

    def reduce(self, x: Value, kind: Literal["sum", "mean", "std"], size: int | None = None) -> Value:
        """One number for each segment of `size` columns; std divides by size - 1.   ->   (T, width / size)"""
        return self._add("reduce", x.width // (size or x.width), (x,), (), kind=kind, size=size or x.width)

    # --- elements ---

    def unary(self, x: Value, f: Unary) -> Value:
        """f of every element. gelu: tanh form; gelu_quick: x * sigmoid(1.702 x); softplus(x) = x above 20."""
        return self._add("unary", x.width, (x,), (), f=f)

    def binary(self, a: Value, b: Value, f: Binary) -> Value:
        """Element by element. A narrower b is stretched: each of its columns serves a.width / b.width adjacent ones."""
        _check(a.width % b.width == 0, f"cannot combine {a.width} columns with {b.width}")
        return self._add("binary", a.width, (a, b), (), f=f)

    def add(self, a: Value, b: Value) -> Value:
        """a + b."""
        return self.binary(a, b, "add")

    def mul(self, a: Value, b: Value) -> Value:
        """a * b."""
        return self.binary(a, b, "mul")

    def vector(self, x: Value, w: Tensor, f: Binary) -> Value:
        """Every row combined with the weights `w`, as many as columns, or fewer, repeated from the start (tiled)."""
        _check(
            x.width % w.shape[-1] == 0 or w.data.size == 0, f"{w.name}: {w.shape[-1]} elements for {x.width} columns"
        )
        return self._add("vector", x.width, (x,), (w,), f=f)

    def gate(self, g: Value, u: Value, f: Unary) -> Value:
        """f(g) * u."""
        return self._add("gate", g.width, (g, u), (), f=f)

    def scale(self, x: Value, factor: float, offset: float = 0.0) -> Value:
        """x * factor + offset."""
        return self._add("scale", x.width, (x,), (), factor=factor, offset=offset)

    def softcap(self, x: Value, cap: float) -> Value:
        """cap * tanh(x / cap)."""
        return self._add("softcap", x.width, (x,), (), cap=cap)

    def clamp(self, x: Value, low: float, high: float) -> Value:
        """min(max(x, low), high)."""
        return self._add("clamp", x.width, (x,), (), low=low, high=high)

    def columns(self, x: Value, start: int, width: int) -> Value:
        """Columns start .. start + width."""
        _check(start >= 0 and start + width <= x.width, f"columns {start}..{start + width} of {x.width}")
        return self._add("columns", width, (x,), (), start=start)

    def gather(self, x: Value, order: NDArray[np.int32]) -> Value:
        """Column i of the result is column order[i] of x: permutations, repeats, strided parts."""
        return self._add("gather", len(order), (x,), (), order=order)

    def concat(self, *parts: Value) -> Value:
        """The parts side by side."""
        return self._add("concat", sum(p.width for p in parts), parts)

    # --- recurrences, along the tokens of a sequence ---

    def short_conv(self, x: Value, w: Tensor, bias: Tensor | None, state: int) -> Value:
        """Causal convolution of each column with its own kernel.   w: (width, n)   state: (n - 1, width) last inputs

        y[t] = sum over i of w[:, i] * x[t - (n - 1) + i], + bias; the last tap meets the current token.
        """
        return self._add("short_conv", x.width, (x,), (w, bias), state=state)

    def delta_net(
        self, q: Value, k: Value, v: Value, decay: Value, beta: Value, state: int, *, key: int, value: int
    ) -> Value:
        """Gated delta rule. Head h has a matrix S (value, key) and reads key head h % n_key_heads.

        S *= exp(decay[h]);  S += beta[h] * (v - S @ k) outer k;  y = S @ q.    q, k: (T, Hk * key)   v: (T, H * value)
        decay, beta: (T, H)   ->   (T, H * value).  q comes scaled and normed.
        """
        return self._add("delta_net", v.width, (q, k, v, decay, beta), (), state=state, key=key, value=value)

    def ssm_scan(
        self, x: Value, dt: Value, b: Value, c: Value, a: Tensor, state: int, *, head: int, n_state: int
    ) -> Value:
        """Selective state space. Head h has a matrix S (head, n_state); heads share groups: b, c (T, groups * n_state).

        S = S * exp(dt[h] * a[h]) + dt[h] * x outer b;  y = S @ c.    x: (T, H * head)   dt: (T, H), already softplus-ed
        a: (H,) (mamba2) or (H, n_state) (mamba1, where head = 1).   ->   (T, H * head)
        """
        return self._add("ssm_scan", x.width, (x, dt, b, c), (a,), state=state, head=head, n_state=n_state)


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise ShapeError(message)


class ShapeError(ValueError):
    """Weights that do not fit together; the model loader turns it into a ModelFileError."""
