"""Apertus: the xIELU activation, with numbers of its own in every layer."""

import math
from functools import partial

from llama.kernels.graph import Graph, Value
from llama.models.blocks import decoder, grouped_attention, sequential_block
from llama.models.hparams import HParams, Keys
from llama.models.layer import Layer
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights


@architecture("apertus")
def apertus(g: Graph, h: HParams, w: Weights) -> None:
    """The keys of the activation come without the architecture in front."""
    keys = Keys("xielu", h.keys.metadata)

    def ffn(layer: Layer, x: Value) -> Value:
        up = layer.linear(x, "ffn_up", layer.n_ff)
        return layer.linear(xielu(layer, up, keys), "ffn_down", h.n_embd)

    attention = partial(grouped_attention, rope=make_rope(h, w, HALVES))
    decoder(g, h, w, sequential_block(attention, ffn))


def xielu(layer: Layer, x: Value, keys: Keys) -> Value:
    """x > 0: p x^2 + b x, else n (exp(min(x, eps)) - 1 - x) + b x (Huang and Schlag, 2024).

    p = softplus(alpha_p), n = b + softplus(alpha_n).
    """

    def number(key: str) -> float:
        values = keys.array(key)
        return keys.number(key) if values is None else values[layer.il]

    g, beta = layer.g, number("beta")
    positive, negative = g.unary(x, "relu"), g.clamp(x, -math.inf, 0.0)
    square = g.scale(g.mul(positive, positive), math.log1p(math.exp(number("alpha_p"))))
    factor = beta + math.log1p(math.exp(number("alpha_n")))
    bend = g.binary(g.unary(g.clamp(negative, -math.inf, number("eps")), "exp"), negative, "sub")
    return g.add(g.add(square, g.scale(bend, factor, -factor)), g.scale(x, beta))
