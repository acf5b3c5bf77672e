"""Phi 3 and 4, and Phi 3.5 MoE: fused matrices, long and short rope factors."""

from functools import partial

from llama.kernels.graph import Graph
from llama.models.blocks import decoder, dense_or_experts, grouped_attention, sequential_block
from llama.models.hparams import HParams
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights


@architecture("phi3", "phimoe")
def phi3(g: Graph, h: HParams, w: Weights) -> None:
    """The metadata names a sliding window that llama.cpp does not apply; neither do we."""
    attention = partial(grouped_attention, rope=make_rope(h, w, HALVES))
    ffn = partial(dense_or_experts, gate="softmax", normalise=True, own_width=False)
    decoder(g, h, w, sequential_block(attention, ffn))
