"""Grok 1 and 2: capped scores, scales in several places, experts beside a network."""

from functools import partial

from llama.kernels.graph import Graph, Value
from llama.models.blocks import decoder, experts, gated_ffn, grouped_attention, routing, sequential_block
from llama.models.hparams import HParams
from llama.models.layer import Layer
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights


@architecture("grok")
def grok(g: Graph, h: HParams, w: Weights) -> None:
    """Norms after attention (attn_output_norm) and network (layer_output_norm, or post_ffw_norm)."""
    number = h.keys.number
    betas = number("rope.scaling.yarn_beta_fast", 8.0), number("rope.scaling.yarn_beta_slow", 1.0)
    attention = partial(
        grouped_attention,
        rope=make_rope(h, w, HALVES, betas=betas, factors=False),
        scale=number("attention.output_scale", 0.08838834764831845),
        softcap=number("attn_logit_softcapping", 30.0),
    )
    post_norm = w.under("blk.0.").first("layer_output_norm.weight", "post_ffw_norm.weight").removesuffix(".weight")
    block = sequential_block(attention, grok_ffn, post_attn_norm="attn_output_norm", post_ffn_norm=post_norm)
    decoder(
        g,
        h,
        w,
        block,
        embedding_scale=number("embedding_scale", 78.38367176906169),
        logit_scale=number("logit_scale", 0.5773502691896257),
        softcap=number("final_logit_softcapping", 0.0),
    )


def grok_ffn(layer: Layer, x: Value) -> Value:
    """Renormalised GELU experts; where there is a network beside them, the sum over the root of two."""
    out = experts(layer, x, routing(layer, "softmax", normalise=True), act="gelu")
    if not layer.w.has("ffn_up.weight"):
        return out
    return layer.g.scale(layer.g.add(gated_ffn(layer, x, "gelu"), out), 0.5**0.5)
