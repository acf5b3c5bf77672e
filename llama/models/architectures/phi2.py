"""Phi 2: attention and network side by side after one LayerNorm; biases everywhere."""

from functools import partial

from llama.kernels.graph import Graph
from llama.models.blocks import decoder, grouped_attention, parallel_block, plain_ffn
from llama.models.hparams import HParams
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights


@architecture("phi2")
def phi2(g: Graph, h: HParams, w: Weights) -> None:
    """A part of each head rotates, by halves."""
    attention = partial(grouped_attention, rope=make_rope(h, w, HALVES))
    decoder(g, h, w, parallel_block(attention, plain_ffn))
