"""ERNIE 4.5 (dense): a llama layer."""

from functools import partial

from llama.kernels.graph import Graph
from llama.models.blocks import decoder, gated_ffn, grouped_attention, sequential_block
from llama.models.hparams import HParams
from llama.models.registry import architecture
from llama.models.rope import NEIGHBOURS, make_rope
from llama.models.weights import Weights


@architecture("ernie4_5")
def ernie4_5(g: Graph, h: HParams, w: Weights) -> None:
    """Neighbours rotate."""
    attention = partial(grouped_attention, rope=make_rope(h, w, NEIGHBOURS))
    decoder(g, h, w, sequential_block(attention, gated_ffn))
