"""Llama 1 to 3, Mistral, Mixtral, SmolLM and their many descendants: neighbours rotate; experts renormalised."""

from functools import partial

from llama.kernels.graph import Graph, Value
from llama.models.blocks import decoder, experts, gated_ffn, grouped_attention, routing, sequential_block
from llama.models.hparams import HParams
from llama.models.layer import Layer
from llama.models.registry import architecture
from llama.models.rope import NEIGHBOURS, make_rope
from llama.models.weights import Weights


@architecture("llama")
def llama(g: Graph, h: HParams, w: Weights) -> None:
    """A layer has experts if it has a router; feed_forward_length is one expert's width then."""
    attention = partial(grouped_attention, rope=make_rope(h, w, NEIGHBOURS))
    decoder(g, h, w, sequential_block(attention, dense_or_experts))


def dense_or_experts(layer: Layer, x: Value) -> Value:
    """Gated network, or experts behind a softmax whose chosen weights are renormalised."""
    if not layer.w.has("ffn_gate_inp.weight"):
        return gated_ffn(layer, x)
    return experts(layer, x, routing(layer, "softmax", normalise=True), n_ff=layer.n_ff)
