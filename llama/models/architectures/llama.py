"""Llama 1 to 3, Mistral, Mixtral, SmolLM and other models of the same layer: neighbours rotate, SiLU gates."""

from functools import partial

from llama.kernels.graph import Graph
from llama.models.blocks import decoder, dense_or_experts, embed, grouped_attention, sequential_block
from llama.models.hparams import HParams
from llama.models.layer import layers, weighted_norm
from llama.models.registry import architecture
from llama.models.rope import NEIGHBOURS, make_rope
from llama.models.weights import Weights


@architecture("llama", "internlm2", "ernie4_5", "xverse", "chatglm")
def llama(g: Graph, h: HParams, w: Weights) -> None:
    """Experts are renormalised after a softmax; feed_forward_length is the width of one."""
    attention = partial(grouped_attention, rope=make_rope(h, w, NEIGHBOURS))
    ffn = partial(dense_or_experts, gate="softmax", normalise=True, own_width=False)
    decoder(g, h, w, sequential_block(attention, ffn))


@architecture("llama-embed")
def llama_embed(g: Graph, h: HParams, w: Weights) -> None:
    """The same layers, giving hidden states; the metadata says whether a mask is used."""
    attention = partial(grouped_attention, rope=make_rope(h, w, NEIGHBOURS))
    ffn = partial(dense_or_experts, gate="softmax", normalise=True, own_width=False)
    block, x = sequential_block(attention, ffn), embed(g, h, w)
    for layer in layers(g, h, w):
        x = block(layer, x)
    g.finish(weighted_norm(g, h, w, x, "output_norm"), None)
