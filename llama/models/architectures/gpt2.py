"""GPT-2: learned positions, LayerNorm, a plain GELU network."""

from functools import partial

from llama.kernels.graph import Graph
from llama.models.blocks import decoder, grouped_attention, plain_ffn, sequential_block
from llama.models.hparams import HParams
from llama.models.registry import architecture
from llama.models.weights import Weights


@architecture("gpt2")
def gpt2(g: Graph, h: HParams, w: Weights) -> None:
    """Positions are in the embeddings; nothing rotates."""
    decoder(g, h, w, sequential_block(partial(grouped_attention, rope=None), plain_ffn))
