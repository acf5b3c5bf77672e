"""StarCoder 2: LayerNorm, a plain GELU network, biases everywhere."""

from functools import partial

from llama.kernels.graph import Graph
from llama.models.blocks import decoder, grouped_attention, plain_ffn, sequential_block
from llama.models.hparams import HParams
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights


@architecture("starcoder2")
def starcoder2(g: Graph, h: HParams, w: Weights) -> None:
    """Halves rotate."""
    attention = partial(grouped_attention, rope=make_rope(h, w, HALVES))
    decoder(g, h, w, sequential_block(attention, plain_ffn))
