"""Mixtures of experts a step away from others: MiniMax M2 and Arctic."""

from functools import partial

from llama.kernels.graph import Graph, Value
from llama.models.blocks import (
    decoder,
    dense_or_experts,
    experts,
    gated_ffn,
    grouped_attention,
    routing,
    sequential_block,
)
from llama.models.hparams import HParams
from llama.models.layer import Layer
from llama.models.registry import architecture
from llama.models.rope import HALVES, NEIGHBOURS, make_rope
from llama.models.weights import Weights


@architecture("minimax-m2")
def minimax_m2(g: Graph, h: HParams, w: Weights) -> None:
    """Queries and keys normed over their whole width; feed_forward_length is the width of an expert."""
    attention = partial(grouped_attention, rope=make_rope(h, w, HALVES, factors=False))
    decoder(g, h, w, sequential_block(attention, partial(dense_or_experts, normalise=True, own_width=False)))


@architecture("arctic")
def arctic(g: Graph, h: HParams, w: Weights) -> None:
    """A network as wide as the stream, and experts that read what the layer began with."""
    rope = make_rope(h, w, NEIGHBOURS, factors=False)

    def block(layer: Layer, x: Value) -> Value:
        out = grouped_attention(layer, layer.norm(x, "attn_norm"), rope=rope)
        out, x = layer.wanted(out, x)
        attended = g.add(out, x)
        dense = g.add(gated_ffn(layer, layer.norm(attended, "ffn_norm"), n_ff=h.n_embd), attended)
        route = routing(layer, "softmax", normalise=True)
        return g.add(experts(layer, layer.norm(x, "ffn_norm_exps"), route, n_ff=layer.n_ff), dense)

    decoder(g, h, w, block)
