"""Attention and state spaces in one model: Jamba, Falcon H1 and Nemotron H."""

from dataclasses import replace
from functools import partial

from llama.kernels.graph import Graph, Value
from llama.models.blocks import (
    decoder,
    dense_or_experts,
    experts,
    gated_ffn,
    grouped_attention,
    plain_ffn,
    routing,
    sequential_block,
)
from llama.models.blocks.mamba import mamba, mamba2
from llama.models.hparams import HParams
from llama.models.layer import Layer
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights


@architecture("jamba")
def jamba(g: Graph, h: HParams, w: Weights) -> None:
    """A layer without key heads is a Mamba 1 mixer; attention has no positions."""

    def mixer(layer: Layer, x: Value) -> Value:
        return grouped_attention(layer, x, rope=None) if layer.n_head_kv else mamba(layer, x)

    ffn = partial(dense_or_experts, gate="softmax", normalise=False, own_width=False)
    decoder(g, h, w, sequential_block(mixer, ffn))


@architecture("falcon-h1")
def falcon_h1(g: Graph, h: HParams, w: Weights) -> None:
    """Attention and a Mamba 2 mixer side by side. The norm before the network has no ".weight" in its name."""
    rope = make_rope(h, w, HALVES, factors=False)

    def mixer(layer: Layer, x: Value) -> Value:
        return g.add(grouped_attention(layer, x, rope=rope), mamba2(layer, x))

    decoder(g, h, w, sequential_block(mixer, gated_ffn))


@architecture("nemotron_h", "nemotron_h_moe")
def nemotron_h(g: Graph, h: HParams, w: Weights) -> None:
    """A layer is one part only: a network if it has a width, attention if it has key heads, else a Mamba 2 mixer.

    All norms are RMS norms, though some files name their epsilon as LayerNorm's.
    """
    h = replace(h, norm="rms")

    def block(layer: Layer, x: Value) -> Value:
        normed = layer.norm(x, "attn_norm")
        if layer.n_ff:
            out = nemotron_ffn(layer, normed)
        else:
            out = grouped_attention(layer, normed, rope=None) if layer.n_head_kv else mamba2(layer, normed)
        out, x = layer.wanted(out, x)
        return g.add(out, x)

    decoder(g, h, w, block)


def nemotron_ffn(layer: Layer, x: Value) -> Value:
    """A squared ReLU; experts, with a shared one, may work in a narrower space."""
    if not layer.w.has("ffn_gate_inp.weight"):
        return plain_ffn(layer, x, "relu2")
    h, narrow = layer.h, layer.h.keys.integer("moe_latent_size", 0)
    scores = layer.linear(x, "ffn_gate_inp", h.n_expert)
    into = layer.linear(x, "ffn_latent_down", narrow) if narrow else x
    route = routing(layer, "sigmoid", normalise=h.keys.flag("expert_weights_norm", False))
    out = experts(layer, into, route, act="relu2", router_logits=scores, n_out=into.width)
    if narrow:
        out = layer.linear(out, "ffn_latent_up", h.n_embd)
    width = h.keys.integer("expert_shared_feed_forward_length", 0)
    return layer.g.add(out, plain_ffn(layer, x, "relu2", width, "_shexp"))
