"""Command R, Cohere 2 and Aya: attention and network side by side, logits multiplied by a scale."""

from functools import partial

from llama.kernels.graph import Graph, Value
from llama.models.blocks import decoder, dense_or_experts, gated_ffn, grouped_attention, parallel_block
from llama.models.blocks.experts import Gate
from llama.models.hparams import HParams
from llama.models.layer import Layer
from llama.models.registry import architecture
from llama.models.rope import NEIGHBOURS, make_rope
from llama.models.weights import Weights
from llama.models.windows import windows


@architecture("command-r")
def command_r(g: Graph, h: HParams, w: Weights) -> None:
    """From 64 layers on there are query and key norms, LayerNorms with a weight for each head."""
    attention = partial(grouped_attention, rope=make_rope(h, w, NEIGHBOURS))
    scale = h.keys.number("logit_scale", 0.0) or 1.0
    decoder(g, h, w, parallel_block(attention, gated_ffn), logit_scale=scale)


@architecture("cohere2moe")
def cohere2moe(g: Graph, h: HParams, w: Weights) -> None:
    """A full layer without positions, then three windowed ones; leading dense layers always rotate."""
    base = h.keys.number("rope.freq_base_swa", h.keys.number("rope.freq_base", 10000.0))
    full, near = make_rope(h, w, NEIGHBOURS), make_rope(h, w, NEIGHBOURS, base=base)
    sizes, dense = windows(h, 4, dense_first=True), h.keys.integer("leading_dense_block_count", 0)
    gate: Gate | None = None if h.keys.integer("expert_gating_func", 0) else "sigmoid"

    def attention(layer: Layer, x: Value) -> Value:
        window = sizes[layer.il]
        return grouped_attention(layer, x, rope=near if window else full if layer.il < dense else None, window=window)

    def ffn(layer: Layer, x: Value) -> Value:
        out = dense_or_experts(layer, x, gate=gate)
        return g.scale(out, 0.5) if layer.w.has("ffn_up_shexp.weight") else out

    scale = h.keys.number("logit_scale", 0.0) or 1.0
    decoder(g, h, w, parallel_block(attention, ffn), logit_scale=scale)


@architecture("cohere2")
def cohere2(g: Graph, h: HParams, w: Weights) -> None:
    """Three windowed layers that rotate, then a full one without positions."""
    base = h.keys.number("rope.freq_base_swa", h.keys.number("rope.freq_base", 10000.0))
    rope, sizes = make_rope(h, w, NEIGHBOURS, base=base), windows(h, 4)

    def attention(layer: Layer, x: Value) -> Value:
        window = sizes[layer.il]
        return grouped_attention(layer, x, rope=rope if window else None, window=window)

    scale = h.keys.number("logit_scale", 0.0) or 1.0
    decoder(g, h, w, parallel_block(attention, gated_ffn), logit_scale=scale)
