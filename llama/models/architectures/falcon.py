"""Falcon: attention and network side by side; larger models norm the attention input on its own."""

from llama.kernels.graph import Graph, Value
from llama.models.blocks import decoder, grouped_attention, plain_ffn
from llama.models.hparams import HParams
from llama.models.layer import Layer
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights


@architecture("falcon")
def falcon(g: Graph, h: HParams, w: Weights) -> None:
    """The network always reads attn_norm, attention reads attn_norm_2 where the file has it."""
    rope = make_rope(h, w, HALVES)

    def block(layer: Layer, x: Value) -> Value:
        normed = layer.norm(x, "attn_norm")
        into = layer.norm(x, "attn_norm_2") if layer.w.has("attn_norm_2.weight") else normed
        out = grouped_attention(layer, into, rope=rope)
        out, x, normed = layer.wanted(out, x, normed)
        return layer.g.add(layer.g.add(plain_ffn(layer, normed), out), x)

    decoder(g, h, w, block)
