"""OpenELM: other head counts and widths in every layer, query and key heads normed."""

from functools import partial

from llama.kernels.graph import Graph
from llama.models.blocks import decoder, gated_ffn, grouped_attention, sequential_block
from llama.models.hparams import HParams
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights


@architecture("openelm")
def openelm(g: Graph, h: HParams, w: Weights) -> None:
    """The arrays of the metadata say how many; queries, keys and values are fused."""
    attention = partial(grouped_attention, rope=make_rope(h, w, HALVES, factors=False))
    decoder(g, h, w, sequential_block(attention, gated_ffn))
