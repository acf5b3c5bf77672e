"""LFM 2 and LFM 2 MoE: short convolutions between gates, with attention in a few layers."""

from llama.kernels.graph import Graph, Value
from llama.models.blocks import decoder, experts, gated_ffn, grouped_attention, routing, sequential_block
from llama.models.hparams import HParams
from llama.models.layer import Layer
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights


@architecture("lfm2", "lfm2moe")
def lfm2(g: Graph, h: HParams, w: Weights) -> None:
    """A layer without key heads is a convolution. The last norm is called token_embd_norm."""
    rope = make_rope(h, w, HALVES, factors=False)
    window = h.keys.integer("attention.sliding_window", 0) if h.architecture == "lfm2" else 0

    def mixer(layer: Layer, x: Value) -> Value:
        if layer.n_head_kv == 0:
            return gated_convolution(layer, x)
        return grouped_attention(layer, x, rope=rope, window=window)

    decoder(g, h, w, sequential_block(mixer, lfm2_ffn), output_norm="token_embd_norm")


def gated_convolution(layer: Layer, x: Value) -> Value:
    """c * conv(b * x), with b, c and x from one matrix in this order."""
    g, n = layer.g, layer.h.n_embd
    taps = layer.h.keys.integer("shortconv.l_cache")
    b, c, u = layer.split_linear(x, "shortconv.in_proj", n, n, n)
    kernel = layer.w.need("shortconv.conv.weight", n, taps)
    y = g.short_conv(g.mul(b, u), kernel, None, g.state((taps - 1) * n))
    return layer.linear(g.mul(c, y), "shortconv.out_proj", n)


def lfm2_ffn(layer: Layer, x: Value) -> Value:
    """A gated network, or renormalised experts."""
    if not layer.w.has("ffn_gate_inp.weight"):
        return gated_ffn(layer, x)
    return experts(layer, x, routing(layer, normalise=True))
