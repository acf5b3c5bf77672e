"""GPT-2, StarCoder 1 and 2, CodeShell, Nemotron, Jais 2, Arcee: a network without a gate."""

from functools import partial

from llama.kernels.graph import Graph
from llama.models.blocks import decoder, grouped_attention, plain_ffn, sequential_block
from llama.models.hparams import HParams
from llama.models.registry import architecture
from llama.models.rope import HALVES, NEIGHBOURS, make_rope
from llama.models.weights import Weights


@architecture("gpt2", "starcoder")
def gpt2(g: Graph, h: HParams, w: Weights) -> None:
    """Positions are in the embeddings; nothing rotates."""
    decoder(g, h, w, sequential_block(partial(grouped_attention, rope=None), plain_ffn))


@architecture("starcoder2", "codeshell")
def starcoder2(g: Graph, h: HParams, w: Weights) -> None:
    """Halves rotate; biases everywhere."""
    attention = partial(grouped_attention, rope=make_rope(h, w, HALVES))
    decoder(g, h, w, sequential_block(attention, plain_ffn))


@architecture("nemotron", "jais2")
def nemotron(g: Graph, h: HParams, w: Weights) -> None:
    """A squared ReLU."""
    attention = partial(grouped_attention, rope=make_rope(h, w, HALVES))
    decoder(g, h, w, sequential_block(attention, partial(plain_ffn, act="relu2")))


@architecture("arcee")
def arcee(g: Graph, h: HParams, w: Weights) -> None:
    """A squared ReLU; neighbours rotate."""
    attention = partial(grouped_attention, rope=make_rope(h, w, NEIGHBOURS))
    decoder(g, h, w, sequential_block(attention, partial(plain_ffn, act="relu2")))
