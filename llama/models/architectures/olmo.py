"""OLMo 1 and OLMoE: norms without weights; experts that are not renormalised."""

from functools import partial

from llama.kernels.graph import Graph, Value
from llama.models.blocks import decoder, dense_or_experts, gated_ffn, grouped_attention, sequential_block
from llama.models.hparams import HParams
from llama.models.layer import Layer, plain_norm
from llama.models.registry import architecture
from llama.models.rope import HALVES, NEIGHBOURS, make_rope
from llama.models.weights import Weights


@architecture("olmo")
def olmo(g: Graph, h: HParams, w: Weights) -> None:
    """Every norm is a LayerNorm without weights; queries, keys and values may be clamped."""
    rope, clamp = make_rope(h, w, NEIGHBOURS), h.keys.number("attention.clamp_kqv", 0.0)

    def block(layer: Layer, x: Value) -> Value:
        out = grouped_attention(layer, plain_norm(g, h, x), rope=rope, clamp=clamp)
        out, x = layer.wanted(out, x)
        x = g.add(out, x)
        return g.add(gated_ffn(layer, plain_norm(g, h, x)), x)

    decoder(g, h, w, block, output_norm=None)


@architecture("olmoe")
def olmoe(g: Graph, h: HParams, w: Weights) -> None:
    """Queries and keys are normed over their whole width; feed_forward_length is the width of an expert."""
    attention = partial(grouped_attention, rope=make_rope(h, w, HALVES))
    ffn = partial(dense_or_experts, gate="softmax", normalise=False, own_width=False)
    decoder(g, h, w, sequential_block(attention, ffn))
