"""Qwen 1 to 3, their vision models on text, and other models of the same layer: halves rotate, SiLU gates."""

from functools import partial

from llama.kernels.graph import Graph
from llama.models.blocks import decoder, gated_ffn, grouped_attention, sequential_block
from llama.models.hparams import HParams
from llama.models.registry import architecture
from llama.models.rope import HALVES, Sections, make_rope
from llama.models.weights import Weights


@architecture("qwen2", "qwen3", "exaone", "orion", "pangu-embedded")
def qwen2(g: Graph, h: HParams, w: Weights) -> None:
    """Biases and norms of heads are found by their tensors."""
    attention = partial(grouped_attention, rope=make_rope(h, w, HALVES))
    decoder(g, h, w, sequential_block(attention, gated_ffn))


@architecture("qwen2vl", "qwen3vl", "paddleocr")
def qwen_vl(g: Graph, h: HParams, w: Weights) -> None:
    """Vision models, on text."""
    sections: Sections = "interleaved" if h.architecture == "qwen3vl" else "blocks"
    attention = partial(grouped_attention, rope=make_rope(h, w, HALVES, sections=sections))
    decoder(g, h, w, sequential_block(attention, gated_ffn))


@architecture("qwen")
def qwen(g: Graph, h: HParams, w: Weights) -> None:
    """feed_forward_length counts both matrices of the gate."""
    attention = partial(grouped_attention, rope=make_rope(h, w, HALVES))
    decoder(g, h, w, sequential_block(attention, partial(gated_ffn, n_ff=h.n_ffs[0] // 2)))


@architecture("seed_oss")
def seed_oss(g: Graph, h: HParams, w: Weights) -> None:
    """The norm before the network is called post_attention_norm."""
    attention = partial(grouped_attention, rope=make_rope(h, w, HALVES))
    decoder(g, h, w, sequential_block(attention, gated_ffn, ffn_norm="post_attention_norm"))
