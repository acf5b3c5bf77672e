"""Diffusion language models, whose tokens all see each other: Dream, LLaDA, LLaDA MoE, RND1."""

from functools import partial

from llama.kernels.graph import Graph
from llama.models.blocks import decoder, dense_or_experts, gated_ffn, grouped_attention, sequential_block
from llama.models.hparams import HParams
from llama.models.registry import architecture
from llama.models.rope import HALVES, NEIGHBOURS, make_rope
from llama.models.weights import Weights


@architecture("dream", "llada")
def dense(g: Graph, h: HParams, w: Weights) -> None:
    """A llama layer without a mask; Dream rotates halves, LLaDA neighbours."""
    rope = make_rope(h, w, HALVES if h.architecture == "dream" else NEIGHBOURS)
    decoder(g, h, w, sequential_block(partial(grouped_attention, rope=rope, causal=False), gated_ffn))


@architecture("llada-moe", "rnd1")
def sparse(g: Graph, h: HParams, w: Weights) -> None:
    """With experts; RND1 divides their weights by the sum, LLaDA does not."""
    attention = partial(grouped_attention, rope=make_rope(h, w, HALVES), causal=False)
    ffn = partial(dense_or_experts, gate="softmax", normalise=h.architecture == "rnd1")
    decoder(g, h, w, sequential_block(attention, ffn))
