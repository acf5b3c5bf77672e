"""Qwen 2 and 2.5, and Dream: halves rotate; queries, keys and values have biases."""

from functools import partial

from llama.kernels.graph import Graph
from llama.models.blocks import decoder, gated_ffn, grouped_attention, sequential_block
from llama.models.hparams import HParams
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights


@architecture("qwen2")
def qwen2(g: Graph, h: HParams, w: Weights) -> None:
    """A llama layer of the other pairing; the biases are found by their tensors."""
    attention = partial(grouped_attention, rope=make_rope(h, w, HALVES))
    decoder(g, h, w, sequential_block(attention, gated_ffn))
