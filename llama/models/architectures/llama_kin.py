"""Models a step away from llama: MainCoder, CogVLM on text, DeciLM, Nanbeige, BitNet, PLM."""

from functools import partial

from llama.kernels.graph import Graph, Value
from llama.models.blocks import (
    attend,
    decoder,
    embed,
    gated_ffn,
    grouped_attention,
    logits,
    plain_ffn,
    qkv,
    sequential_block,
)
from llama.models.blocks.latent import latent_attention
from llama.models.hparams import HParams
from llama.models.layer import Layer, layers, weighted_norm
from llama.models.registry import architecture
from llama.models.rope import HALVES, NEIGHBOURS, make_rope
from llama.models.weights import Weights


@architecture("maincoder")
def maincoder(g: Graph, h: HParams, w: Weights) -> None:
    """Heads are normed after they are rotated."""
    rope = make_rope(h, w, NEIGHBOURS, factors=False)
    decoder(g, h, w, sequential_block(partial(grouped_attention, rope=rope, norm_after_rope=True), gated_ffn))


@architecture("cogvlm")
def cogvlm(g: Graph, h: HParams, w: Weights) -> None:
    """The text half of its experts; the rotation takes no number from the metadata."""
    rope = make_rope(h, w, HALVES, base=10000.0, n_rot=h.head_k, plain=True)
    decoder(g, h, w, sequential_block(partial(grouped_attention, rope=rope), gated_ffn))


@architecture("deci")
def deci(g: Graph, h: HParams, w: Weights) -> None:
    """Layers may lack attention, have one matrix in its place, or lack everything."""
    rope = make_rope(h, w, NEIGHBOURS)

    def block(layer: Layer, x: Value) -> Value:
        if layer.n_ff == 0:
            return layer.wanted(x)[0]
        if layer.n_head == 0:
            (x,) = layer.wanted(x)
        else:
            normed = layer.norm(x, "attn_norm")
            mix = layer.linear(normed, "attn_output", h.n_embd) if layer.n_head_kv == 0 else None
            out, x = layer.wanted(mix or grouped_attention(layer, normed, rope=rope), x)
            x = g.add(out, x)
        return g.add(gated_ffn(layer, layer.norm(x, "ffn_norm")), x)

    decoder(g, h, w, block)


@architecture("nanbeige")
def nanbeige(g: Graph, h: HParams, w: Weights) -> None:
    """The layers are run several times over, with the last norm between the turns."""
    rope, repeats = make_rope(h, w, NEIGHBOURS), h.keys.integer("num_loops", 1)
    block = sequential_block(partial(grouped_attention, rope=rope), gated_ffn)
    x = embed(g, h, w)
    for layer in layers(g, h, w, repeats):
        x = block(layer, x)
        if layer.il == h.n_layer - 1 and not layer.is_last and not h.keys.flag("skip_loop_final_norm", False):
            x = weighted_norm(g, h, w, x, "output_norm")
    logits(g, h, w, x)


@architecture("bitnet")
def bitnet(g: Graph, h: HParams, w: Weights) -> None:
    """Norms inside attention and network, before their last matrices; the embeddings give the logits."""
    rope = make_rope(h, w, HALVES, factors=False)

    def attention(layer: Layer, x: Value) -> Value:
        q, k, v = qkv(layer, x)
        mixed = attend(layer, g.rope(q, rope), g.rope(k, rope), v)
        return layer.linear(layer.norm(mixed, "attn_sub_norm"), "attn_output", h.n_embd)

    def ffn(layer: Layer, x: Value) -> Value:
        gate, up = layer.linear(x, "ffn_gate", layer.n_ff), layer.linear(x, "ffn_up", layer.n_ff)
        return layer.linear(layer.norm(g.gate(gate, up, "silu"), "ffn_sub_norm"), "ffn_down", h.n_embd)

    decoder(g, h, w, sequential_block(attention, ffn))


@architecture("plm")
def plm(g: Graph, h: HParams, w: Weights) -> None:
    """Latent attention with keys for each head, a squared ReLU."""
    rope = make_rope(h, w, NEIGHBOURS, factors=False, last=True)
    shared = make_rope(h, w, NEIGHBOURS, factors=False, head=h.n_rot)
    attention = partial(latent_attention, rope=rope, key_rope=shared, head_v=h.head_v, scale=h.head_k**-0.5)
    decoder(g, h, w, sequential_block(attention, partial(plain_ffn, act="relu2")))
