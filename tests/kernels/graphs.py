"""Tiny random models, as graphs, and batches for them."""

import numpy as np
from numpy.typing import NDArray

from llama.kernels.batch import Batch
from llama.kernels.graph import Attention, Graph, Rope, Routing, Value
from llama.kernels.tensor import Tensor
from tests.kernels.packs import T, random_tensor

N_VOCAB, WIDTH, HEADS, KV_HEADS, HEAD = 96, 96, 6, 2, 32


class Seeds:
    """Random tensors, each with a seed of its own."""

    def __init__(self) -> None:
        self.next = 0

    def matrix(self, kind: int, rows: int, columns: int) -> Tensor:
        self.next += 1
        return random_tensor(kind, rows, columns, self.next)

    def vector(self, n: int) -> Tensor:
        self.next += 1
        rng = np.random.default_rng(self.next)
        return Tensor.of(f"vector {self.next}", rng.uniform(0.5, 1.5, n).astype(np.float32))


def decoder(kind: int = T.Q4_1, *, window: int = 0, experts: bool = False, recurrent: bool = False) -> Graph:
    """Two layers of a llama-like model with weights of a type."""
    g, s = Graph(), Seeds()
    table = s.matrix(T.Q8_0, N_VOCAB, WIDTH)
    x = g.scale(g.embed(table), 0.1)
    for _ in range(2):
        x = g.add(x, _attention(g, s, kind, g.norm(x, s.vector(WIDTH), 1e-5), window))
        if recurrent:
            x = g.add(x, _recurrent(g, s, kind, g.norm(x, s.vector(WIDTH), 1e-5)))
        feed = _experts if experts else _feed_forward
        x = g.add(x, feed(g, s, kind, g.norm(x, s.vector(WIDTH), 1e-5)))
    hidden = g.norm(g.select(x), s.vector(WIDTH), 1e-5)
    g.finish(hidden, g.linear(hidden, table))
    return g


def _attention(g: Graph, s: Seeds, kind: int, x: Value, window: int) -> Value:
    rope = Rope(HEAD, 10000.0 ** (-np.arange(HEAD // 2) / (HEAD // 2)), neighbours=bool(window))
    q = g.rope(g.linear(x, s.matrix(kind, HEADS * HEAD, WIDTH)), rope)
    k = g.rope(g.linear(x, s.matrix(kind, KV_HEADS * HEAD, WIDTH)), rope)
    v = g.linear(x, s.matrix(kind, KV_HEADS * HEAD, WIDTH))
    cache = g.cache(KV_HEADS, HEAD, HEAD)
    scale = 1 / WIDTH / HEAD**0.5
    a = g.attention(q, k, v, Attention(cache, HEADS, KV_HEADS, HEAD, HEAD, scale, window=window))
    return g.linear(g.scale(a, 0.1), s.matrix(kind, WIDTH, HEADS * HEAD))


def _feed_forward(g: Graph, s: Seeds, kind: int, x: Value) -> Value:
    gate, up = g.linear(x, s.matrix(kind, 160, WIDTH)), g.linear(x, s.matrix(kind, 160, WIDTH))
    return g.linear(g.gate(g.scale(gate, 0.1), up, "silu"), s.matrix(kind, WIDTH, 160))


def _experts(g: Graph, s: Seeds, kind: int, x: Value) -> Value:
    chosen = g.route(g.linear(x, s.matrix(T.F32, 5, WIDTH)), Routing(5, 2, "softmax", normalise=True))
    stacked = [s.matrix(kind, 5 * rows, columns) for rows, columns in ((64, WIDTH), (WIDTH, 64))]
    up, down = (
        Tensor(w.name, w.type, (5, w.shape[0] // 5, w.shape[1]), w.data.reshape(5, w.shape[0] // 5, -1))
        for w in stacked
    )
    inner = g.unary(g.scale(g.expert_linear(x, up, chosen), 0.1), "gelu")
    return g.expert_sum(g.expert_linear(inner, down, chosen), chosen)


def _recurrent(g: Graph, s: Seeds, kind: int, x: Value) -> Value:
    taps = Tensor.of("taps", np.random.default_rng(3).standard_normal((WIDTH, 4)).astype(np.float32))
    y = g.short_conv(x, taps, None, g.state(3 * WIDTH))
    k = g.norm(g.columns(y, 0, 32), None, 1e-6, kind="l2", size=16)
    decay = g.unary(g.unary(g.columns(y, 32, 4), "softplus"), "neg")
    beta = g.unary(g.columns(y, 36, 4), "sigmoid")
    state = g.state(4 * 16 * 16)
    out = g.delta_net(k, k, g.columns(y, 32, 64), decay, beta, state, key=16, value=16)
    return g.linear(out, s.matrix(kind, WIDTH, 64))


def batch(
    *parts: tuple[NDArray[np.int32], int, list[int]], states: list[int] | None = None, every: bool = True
) -> Batch:
    """(tokens, first position, blocks) of some sequences; results of every row, or of each sequence's last."""
    starts = np.cumsum([0, *(len(tokens) for tokens, _, _ in parts)]).astype(np.int32)
    columns = max(len(blocks) for _, _, blocks in parts)
    table = np.full((len(parts), columns), -1, np.int32)
    for row, (_, _, blocks) in zip(table, parts, strict=True):
        row[: len(blocks)] = blocks
    return Batch(
        np.concatenate([tokens for tokens, _, _ in parts]).astype(np.int32),
        starts,
        np.array([position for _, position, _ in parts], np.int32),
        table,
        np.array(states or range(len(parts)), np.int32),
        np.arange(starts[-1], dtype=np.int32) if every else starts[1:] - 1,
    )
