"""Talkie: norms without weights, and the first embedding added again in every layer."""

from llama.kernels.graph import Graph, Value
from llama.models.blocks import attend, embed, gated_ffn, logits, qkv
from llama.models.blocks.mamba import head_vector
from llama.models.hparams import HParams
from llama.models.layer import Layer, layers, plain_norm
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights


@architecture("talkie")
def talkie(g: Graph, h: HParams, w: Weights) -> None:
    """Queries are normed after rotation with a weight for each head, keys without one."""
    rope = make_rope(h, w, HALVES, factors=False)
    first = plain_norm(g, h, embed(g, h, w))

    def attention(layer: Layer, x: Value) -> Value:
        q, k, v = qkv(layer, x)
        q = plain_norm(g, h, g.rope(q, rope), size=h.head_k)
        q = g.mul(q, head_vector(layer, x, "attn_q_norm.weight", layer.n_head))
        k = plain_norm(g, h, g.rope(k, rope), size=h.head_k)
        return layer.linear(attend(layer, q, k, v), "attn_output", h.n_embd)

    x = first
    for layer in layers(g, h, w):
        out, x, skip = layer.wanted(attention(layer, plain_norm(g, h, x)), x, first)
        x = g.add(out, x)
        x = g.add(gated_ffn(layer, plain_norm(g, h, x)), x)
        x = g.add(g.vector(skip, layer.w.need("layer_output_scale.weight", 1), "mul"), x)
    logits(g, h, w, x, scale=h.keys.number("logit_scale"), output_norm=None)
