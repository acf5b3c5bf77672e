"""GPT-NeoX and Pythia: attention and network side by side, or one after the other, as the metadata says."""

from functools import partial

from llama.kernels.graph import Graph
from llama.models.blocks import decoder, grouped_attention, parallel_block, plain_ffn, sequential_block
from llama.models.hparams import HParams
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights


@architecture("gptneox")
def gptneox(g: Graph, h: HParams, w: Weights) -> None:
    """Side by side, each part has a norm of its own over the same input."""
    attention = partial(grouped_attention, rope=make_rope(h, w, HALVES))
    if h.keys.flag("use_parallel_residual", True):
        decoder(g, h, w, parallel_block(attention, plain_ffn, ffn_norm="ffn_norm"))
    else:
        decoder(g, h, w, sequential_block(attention, plain_ffn))
