"""MiniMax 01: linear attention with a fixed decay for each head, full attention in every eighth layer."""

import numpy as np

from llama.kernels.graph import Graph, Value
from llama.kernels.tensor import Tensor
from llama.models.blocks import decoder, experts, grouped_attention, routing
from llama.models.blocks.attention import alibi_slopes
from llama.models.blocks.delta import recurrent_layers
from llama.models.blocks.latent import part_of_heads
from llama.models.hparams import HParams
from llama.models.layer import Layer
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights


@architecture("minimax-01")
def minimax_01(g: Graph, h: HParams, w: Weights) -> None:
    """The normed input of each part, scaled, takes the place of the residual."""
    rope, recurrent = make_rope(h, w, HALVES, factors=False), recurrent_layers(h, 8)
    scale = h.keys.number("residual_scale")

    def block(layer: Layer, x: Value) -> Value:
        x = layer.norm(x, "attn_norm")
        out = linear_attention(layer, x) if recurrent[layer.il] else grouped_attention(layer, x, rope=rope)
        out, x = layer.wanted(out, x)
        x = layer.norm(g.add(out, g.scale(x, scale)), "ffn_norm")
        out = experts(layer, x, routing(layer, "softmax", normalise=True), n_ff=layer.n_ff)
        return g.add(out, g.scale(x, scale))

    decoder(g, h, w, block)


def linear_attention(layer: Layer, x: Value) -> Value:
    """S = exp(-slope) S + v outer k;  y = S q. Slopes are ALiBi's, smaller in later layers; normed, then gated."""
    g, h, n_head, head = layer.g, layer.h, layer.n_head, layer.h.head_k
    size = n_head * head
    mixed = g.unary(layer.linear(x, "attn_qkv", 3 * size), "silu")
    q, k, v = (g.gather(mixed, part_of_heads(n_head, 3 * head, i * head, head)) for i in range(3))
    fade = 1 - layer.il / max(1, h.n_layer - 1) + 1e-5
    decay = -fade * np.array(alibi_slopes(n_head, 8.0), np.float32)
    ones = g.scale(g.columns(x, 0, n_head), 0.0, 1.0)
    state = g.state(size * head)
    y = g.ssm_scan(v, ones, k, q, Tensor.of("decay", decay), state, head=head, n_state=head)
    y = g.gate(layer.linear(x, "attn_gate", size), layer.norm(y, "attn_norm_2"), "sigmoid")
    return layer.linear(y, "attn_output", h.n_embd)
