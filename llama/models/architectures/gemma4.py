"""Gemma 4: two kinds of attention layers, shared keys and values, per-layer embeddings, experts beside a network."""

from typing import Any

from llama.kernels.graph import Graph, Rope, Value
from llama.kernels.tensor import Tensor
from llama.models.blocks import attend_kv, embed, experts, gated_ffn, logits, routing
from llama.models.blocks.attention import head_norm
from llama.models.blocks.per_layer import gated_piece, layer_inputs
from llama.models.hparams import HParams
from llama.models.layer import Layer, layers, plain_norm
from llama.models.registry import architecture
from llama.models.rope import HALVES, make_rope
from llama.models.weights import Weights
from llama.models.windows import windows


@architecture("gemma4")
def gemma4(g: Graph, h: HParams, w: Weights) -> None:
    """Windowed layers have their own head size and rotation; rope_freqs serve full layers only."""
    keys = h.keys
    head = keys.integer("attention.key_length_swa", h.head_k)
    near = make_rope(
        h,
        w,
        HALVES,
        head=head,
        n_rot=keys.integer("rope.dimension_count_swa", h.n_rot),
        base=keys.number("rope.freq_base_swa", 10000.0),
        scaled=False,
        factors=False,
    )
    full, sizes = make_rope(h, w, HALVES), windows(h, 0)
    width = keys.integer("embedding_length_per_layer_input", 0)
    x = embed(g, h, w, h.n_embd**0.5)
    pieces = layer_inputs(g, h, w, x, width) if width else []
    caches: list[int] = []
    for layer in layers(g, h, w):
        il = layer.il
        rope = near if sizes[il] else full
        attended = attention(layer, layer.norm(x, "attn_norm"), rope, sizes[il], caches)
        x = g.add(layer.norm(attended, "post_attention_norm"), x)
        x = g.add(layer.norm(gemma4_ffn(layer, x), "post_ffw_norm"), x)
        if pieces:
            x = g.add(x, gated_piece(layer, x, pieces[il]))
        scale = layer.w.get("layer_output_scale.weight", 1)
        x = x if scale is None else g.vector(x, scale, "mul")
    logits(g, h, w, g.select(x), softcap=keys.number("final_logit_softcapping", 30.0))


def attention(layer: Layer, x: Value, rope: Rope, window: int, caches: list[int]) -> Value:
    """Scores unscaled, values normed without a weight; without attn_v the raw keys are the values.

    The last shared_kv_layers layers read the cache of the last layer of their kind that has one.
    """
    g, h, head, n_kv = layer.g, layer.h, rope.head, layer.n_head_kv
    own = h.n_layer - h.keys.integer("attention.shared_kv_layers", 0)
    q, k, v = _projections(layer, x, head)
    q = g.rope(head_norm(layer, q, "attn_q_norm", head), rope)
    options: dict[str, Any] = {"head_k": head, "head_v": head, "n_head_kv": n_kv, "scale": 1.0, "window": window}
    if layer.il >= own:
        cache = caches[own - (2 if window else 1)]
        mixed = attend_kv(layer, q, None, None, cache, **options)
    else:
        caches.append(g.cache(n_kv, head, head))
        v = plain_norm(g, h, v, size=head)
        k = g.rope(head_norm(layer, k, "attn_k_norm", head), rope)
        mixed = attend_kv(layer, q, k, v, caches[-1], **options)
    return layer.linear(mixed, "attn_output", h.n_embd)


def _projections(layer: Layer, x: Value, head: int) -> tuple[Value, Value, Value]:
    """q, k and v; a layer that shares a cache may lack the last two, which are not used then."""
    n_q, n_kv = layer.n_head * head, layer.n_head_kv * head
    if layer.w.has("attn_qkv.weight"):
        q, k, v = layer.split_linear(x, "attn_qkv", n_q, n_kv, n_kv)
        return q, k, v
    q = layer.linear(x, "attn_q", n_q)
    k = layer.linear(x, "attn_k", n_kv) if layer.w.has("attn_k.weight") else q
    return q, k, layer.linear(x, "attn_v", n_kv) if layer.w.has("attn_v.weight") else k


def gemma4_ffn(layer: Layer, x: Value) -> Value:
    """A gated GELU network; where there are experts, both branches normed on their own and added."""
    dense = gated_ffn(layer, layer.norm(x, "ffn_norm"), "gelu")
    if not layer.w.has("ffn_gate_inp.weight"):
        return dense
    g, h, w = layer.g, layer.h, layer.w
    scale: Tensor = w.need("ffn_gate_inp.scale", h.n_embd)
    seen = g.vector(g.scale(plain_norm(g, h, x), h.n_embd**-0.5), scale, "mul")
    scores = g.linear(seen, w.need("ffn_gate_inp.weight", h.n_expert, h.n_embd))
    route = routing(layer, "softmax", normalise=True, scale=1.0)
    chosen = experts(layer, layer.norm(x, "pre_ffw_norm_2"), route, act="gelu", router_logits=scores)
    return g.add(layer.norm(dense, "post_ffw_norm_1"), layer.norm(chosen, "post_ffw_norm_2"))
