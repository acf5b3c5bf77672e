"""Qwen's mixtures of experts: 1.5 and 2 with a shared expert, 3 with normed heads and renormalised weights."""

from functools import partial

from llama.kernels.graph import Graph, Value
from llama.models.blocks import decoder, experts, grouped_attention, routing, sequential_block, shared_expert
from llama.models.hparams import HParams
from llama.models.layer import Layer
from llama.models.registry import architecture
from llama.models.rope import HALVES, Sections, make_rope
from llama.models.weights import Weights


@architecture("qwen2moe")
def qwen2moe(g: Graph, h: HParams, w: Weights) -> None:
    """Weights of the chosen experts are not renormalised; the shared expert stands behind a sigmoid."""
    attention = partial(grouped_attention, rope=make_rope(h, w, HALVES))
    decoder(g, h, w, sequential_block(attention, shared_and_chosen))


def shared_and_chosen(layer: Layer, x: Value) -> Value:
    """The chosen experts and the shared one. Without its own width it is as wide as the dense network would be."""
    width = layer.h.keys.integer("expert_shared_feed_forward_length", 0) or layer.n_ff
    chosen = experts(layer, x, routing(layer, "softmax"))
    return layer.g.add(chosen, shared_expert(layer, x, n_ff=width))


@architecture("qwen3moe", "qwen3vlmoe")
def qwen3moe(g: Graph, h: HParams, w: Weights) -> None:
    """As Qwen 3, with experts; the vision model on text."""
    sections: Sections = "interleaved" if h.architecture == "qwen3vlmoe" else ""
    attention = partial(grouped_attention, rope=make_rope(h, w, HALVES, sections=sections))
    decoder(g, h, w, sequential_block(attention, renormalised_experts))


def renormalised_experts(layer: Layer, x: Value) -> Value:
    """Experts behind a softmax, weights of the chosen ones divided by their sum."""
    return experts(layer, x, routing(layer, "softmax", normalise=True))
