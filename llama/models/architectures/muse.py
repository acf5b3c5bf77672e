"""Muse Glimmer: gated attention, windowed layers that rotate, norms of their own epsilon after each part."""

from llama.kernels.graph import Graph, Value
from llama.models.blocks import embed, gated_ffn, grouped_attention, logits
from llama.models.hparams import HParams
from llama.models.layer import Layer, layers, plain_norm
from llama.models.registry import architecture
from llama.models.rope import NEIGHBOURS, make_rope
from llama.models.weights import Weights
from llama.models.windows import windows

#: Added under the root by the norms after attention and network; fixed in llama.cpp too.
POST_EPSILON = 1e-8


@architecture("muse-glimmer")
def muse_glimmer(g: Graph, h: HParams, w: Weights) -> None:
    """The embeddings are normed without weights; full layers have no positions."""
    base = h.keys.number("rope.freq_base_swa", h.keys.number("rope.freq_base", 10000.0))
    rope, sizes = make_rope(h, w, NEIGHBOURS, base=base, scaled=False, factors=False), windows(h, 4)

    def post(layer: Layer, x: Value, name: str) -> Value:
        return g.norm(x, layer.w.need(f"{name}.weight", h.n_embd), POST_EPSILON)

    x = plain_norm(g, h, embed(g, h, w))
    for layer in layers(g, h, w):
        window = sizes[layer.il]
        normed = layer.norm(x, "attn_norm")
        out = grouped_attention(layer, normed, rope=rope if window else None, window=window, gate="sigmoid")
        out, x = layer.wanted(out, x)
        x = g.add(post(layer, out, "post_attention_norm"), x)
        x = g.add(post(layer, gated_ffn(layer, layer.norm(x, "ffn_norm")), "post_ffw_norm"), x)
    softcap = h.keys.number("final_logit_softcapping", 30.0)
    logits(g, h, w, x, scale=h.keys.number("logit_scale"), softcap=softcap)
