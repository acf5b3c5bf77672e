"""Phi 3 and 4: fused matrices, long and short rope factors."""

from functools import partial

from llama.kernels.graph import Graph
from llama.models.blocks import decoder, gated_ffn, grouped_attention, sequential_block
from llama.models.hparams import HParams
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights


@architecture("phi3")
def phi3(g: Graph, h: HParams, w: Weights) -> None:
    """The metadata names a sliding window that llama.cpp does not apply; neither do we."""
    attention = partial(grouped_attention, rope=make_rope(h, w, HALVES))
    decoder(g, h, w, sequential_block(attention, gated_ffn))
