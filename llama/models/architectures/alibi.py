"""Models whose positions are ALiBi slopes: Bloom, MPT, Refact, Jais, Baichuan 13B."""

from functools import partial

from llama.kernels.graph import Graph, Value
from llama.models.blocks import decoder, gated_ffn, grouped_attention, plain_ffn, sequential_block
from llama.models.blocks.attention import alibi_slopes
from llama.models.hparams import HParams
from llama.models.layer import Layer
from llama.models.registry import architecture
from llama.models.rope import NEIGHBOURS, make_rope
from llama.models.weights import Weights


@architecture("bloom")
def bloom(g: Graph, h: HParams, w: Weights) -> None:
    """The embeddings are normed; the network has no gate."""
    attention = partial(grouped_attention, rope=None, slopes=alibi_slopes(h.n_head, 8.0))
    decoder(g, h, w, sequential_block(attention, plain_ffn))


@architecture("mpt")
def mpt(g: Graph, h: HParams, w: Weights) -> None:
    """Learned positions in place of slopes in some files; queries, keys and values may be clamped."""
    slopes = alibi_slopes(h.n_head, h.keys.number("attention.max_alibi_bias", 0.0))
    clamp = h.keys.number("attention.clamp_kqv", 0.0)
    attention = partial(grouped_attention, rope=None, slopes=slopes, clamp=clamp)
    decoder(g, h, w, sequential_block(attention, mpt_ffn))


def mpt_ffn(layer: Layer, x: Value) -> Value:
    """A network without a gate, its activations divided by weights where the file has them."""
    up = layer.g.unary(layer.linear(x, "ffn_up", layer.n_ff), "gelu")
    scales = layer.w.get("ffn.act.scales", layer.n_ff)
    if scales is not None:
        up = layer.g.vector(up, scales, "div")
    return layer.linear(up, "ffn_down", layer.h.n_embd)


@architecture("refact")
def refact(g: Graph, h: HParams, w: Weights) -> None:
    """A llama layer with slopes."""
    attention = partial(grouped_attention, rope=None, slopes=alibi_slopes(h.n_head, 8.0))
    decoder(g, h, w, sequential_block(attention, gated_ffn))


@architecture("jais")
def jais(g: Graph, h: HParams, w: Weights) -> None:
    """Scores are divided by the head size, not by its root."""
    slopes = alibi_slopes(h.n_head, h.keys.number("attention.max_alibi_bias", 0.0))
    attention = partial(grouped_attention, rope=None, slopes=slopes, scale=1 / h.head_k)
    decoder(g, h, w, sequential_block(attention, gated_ffn))


@architecture("baichuan")
def baichuan(g: Graph, h: HParams, w: Weights) -> None:
    """Told apart by their layers: 32 (7B) rotate, 40 (13B) have slopes; llama.cpp gives others no positions."""
    rope = make_rope(h, w, NEIGHBOURS) if h.n_layer == 32 else None
    slopes = alibi_slopes(h.n_head, 8.0) if h.n_layer == 40 else ()
    decoder(g, h, w, sequential_block(partial(grouped_attention, rope=rope, slopes=slopes), gated_ffn))
