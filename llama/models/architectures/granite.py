"""Granite 3 and Granite MoE: llama layers with scales on embeddings, scores, residuals and logits."""

from functools import partial

from llama.kernels.graph import Graph, Value
from llama.models.blocks import decoder, experts, gated_ffn, grouped_attention, routing, sequential_block, shared_expert
from llama.models.hparams import HParams
from llama.models.layer import Layer
from llama.models.registry import architecture
from llama.models.rope import NEIGHBOURS, make_rope
from llama.models.weights import Weights


@architecture("granite", "granitemoe")
def granite(g: Graph, h: HParams, w: Weights) -> None:
    """Logits are divided by their scale; rope.scaling.finetuned = false switches positions off."""
    rope = make_rope(h, w, NEIGHBOURS) if h.keys.flag("rope.scaling.finetuned", True) else None
    attention = partial(grouped_attention, rope=rope, scale=h.keys.number("attention.scale", 0.0) or None)
    residual = h.keys.number("residual_scale", 0.0) or 1.0
    decoder(
        g,
        h,
        w,
        sequential_block(attention, granite_ffn, residual_scale=residual),
        embedding_scale=h.keys.number("embedding_scale", 0.0) or 1.0,
        logit_scale=1 / (h.keys.number("logit_scale", 0.0) or 1.0),
    )


def granite_ffn(layer: Layer, x: Value) -> Value:
    """A gated network, or renormalised experts with a shared one where the file has it."""
    if not layer.w.has("ffn_gate_inp.weight"):
        return gated_ffn(layer, x)
    out = experts(layer, x, routing(layer, "softmax", normalise=True), n_ff=layer.n_ff)
    if layer.w.has("ffn_up_shexp.weight"):
        out = layer.g.add(out, shared_expert(layer, x))
    return out
