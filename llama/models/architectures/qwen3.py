"""Qwen 3 (dense): query and key heads are RMS-normed before rotation; the norms are found by their tensors."""

from functools import partial

from llama.kernels.graph import Graph
from llama.models.blocks import decoder, gated_ffn, grouped_attention, sequential_block
from llama.models.hparams import HParams
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights


@architecture("qwen3")
def qwen3(g: Graph, h: HParams, w: Weights) -> None:
    """A llama layer of the other pairing."""
    attention = partial(grouped_attention, rope=make_rope(h, w, HALVES))
    decoder(g, h, w, sequential_block(attention, gated_ffn))
