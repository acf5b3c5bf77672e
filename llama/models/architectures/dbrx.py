"""DBRX: LayerNorm, clamped queries, keys and values, renormalised experts."""

from functools import partial

from llama.kernels.graph import Graph
from llama.models.blocks import decoder, dense_or_experts, grouped_attention, sequential_block
from llama.models.hparams import HParams
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights


@architecture("dbrx")
def dbrx(g: Graph, h: HParams, w: Weights) -> None:
    """The norm before the experts is called attn_output_norm."""
    clamp = h.keys.number("attention.clamp_kqv")
    attention = partial(grouped_attention, rope=make_rope(h, w, HALVES), clamp=clamp)
    ffn = partial(dense_or_experts, gate="softmax", normalise=True, own_width=False)
    decoder(g, h, w, sequential_block(attention, ffn, ffn_norm="attn_output_norm"))
