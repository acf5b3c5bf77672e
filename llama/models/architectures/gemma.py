"""Gemma 1: embeddings times the square root of their size, gated GELU."""

from functools import partial

from llama.kernels.graph import Graph
from llama.models.blocks import decoder, gated_ffn, grouped_attention, sequential_block
from llama.models.hparams import HParams
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights


@architecture("gemma")
def gemma(g: Graph, h: HParams, w: Weights) -> None:
    """The converter has added the one to the norms."""
    attention = partial(grouped_attention, rope=make_rope(h, w, HALVES))
    block = sequential_block(attention, partial(gated_ffn, act="gelu"))
    decoder(g, h, w, block, embedding_scale=h.n_embd**0.5)
