"""BERT and its kin: encoders without a mask, with norms after each part."""

from functools import partial

from llama.kernels.graph import Graph, Value
from llama.models.blocks import Mixer, embed, experts, feed_forward, grouped_attention, plain_ffn, routing
from llama.models.blocks.attention import alibi_slopes
from llama.models.hparams import HParams
from llama.models.layer import Layer, layers, weighted_norm
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights


@architecture("bert")
def bert(g: Graph, h: HParams, w: Weights) -> None:
    """Learned positions; token type 0 is always added."""
    encoder(g, h, w, partial(grouped_attention, rope=None, causal=False), plain_ffn)


@architecture("nomic-bert", "nomic-bert-moe", "jina-bert-v3")
def nomic_bert(g: Graph, h: HParams, w: Weights) -> None:
    """Rotated heads; nomic-bert has a gated network, the others a plain one, and every n-th layer may have experts."""
    attention = partial(grouped_attention, rope=make_rope(h, w, HALVES, factors=False), causal=False)
    step = h.keys.integer("moe_every_n_layers", 0)

    def ffn(layer: Layer, x: Value) -> Value:
        if step and layer.il % step == 1:
            return experts(layer, x, routing(layer, "softmax"), act="gelu", n_ff=layer.n_ff)
        return feed_forward(layer, x, "silu" if h.architecture == "nomic-bert" else "gelu")

    encoder(g, h, w, attention, ffn)


@architecture("jina-bert-v2")
def jina_bert_v2(g: Graph, h: HParams, w: Weights) -> None:
    """ALiBi instead of positions; queries and keys normed over their whole width; gated GELU."""
    slopes = alibi_slopes(h.n_head, h.keys.number("attention.max_alibi_bias", 8.0))
    attention = partial(grouped_attention, rope=None, causal=False, slopes=slopes)
    encoder(g, h, w, attention, partial(feed_forward, act="gelu"))


def encoder(g: Graph, h: HParams, w: Weights, attention: Mixer, ffn: Mixer) -> None:
    """x = norm(x + attention(x)); x = norm(x + ffn(x)). There are no logits."""
    x = weighted_norm(g, h, w, embed(g, h, w), "token_embd_norm")
    for layer in layers(g, h, w):
        out, x = layer.wanted(attention(layer, x), x)
        attended = layer.norm(g.add(out, x), "attn_output_norm")
        if layer.w.has("attn_norm_2.weight"):
            attended = layer.norm(g.add(attended, x), "attn_norm_2")
        x = layer.norm(g.add(ffn(layer, attended), attended), "layer_output_norm")
    g.finish(x, None)
