"""Gated delta-net layers, and the gated attention that stands between them (Qwen 3.5, Qwen 3 Next)."""

import numpy as np

from llama.kernels.graph import Rope, Value
from llama.models.blocks.attention import attend, head_norm
from llama.models.blocks.latent import part_of_heads
from llama.models.blocks.mamba import convolved
from llama.models.hparams import HParams
from llama.models.layer import Layer


def recurrent_layers(h: HParams, interval: int = 4) -> tuple[bool, ...]:
    """Which layers are recurrent: as an array says, else all but every n-th, `interval` unless the metadata differs."""
    if h.keys.array("attention.recurrent_layers") is not None:
        return tuple(bool(v) for v in h.keys.per_layer("attention.recurrent_layers", h.n_layer))
    interval = h.keys.integer("full_attention_interval", interval) or 1
    return tuple((il + 1) % interval != 0 for il in range(h.n_layer))


def gated_attention(layer: Layer, x: Value, *, rope: Rope) -> Value:
    """Attention whose result is multiplied by the sigmoid of a gate; attn_q holds query and gate head by head."""
    g, h = layer.g, layer.h
    n_head, head = layer.n_head, h.head_k
    sizes = 2 * n_head * head, layer.n_head_kv * head, layer.n_head_kv * h.head_v
    if layer.w.has("attn_qkv.weight"):
        both, k, v = layer.split_linear(x, "attn_qkv", *sizes)
    else:
        both, k, v = (layer.linear(x, f"attn_{name}", size) for name, size in zip("qkv", sizes, strict=True))
    q = g.gather(both, part_of_heads(n_head, 2 * head, 0, head))
    gate = g.gather(both, part_of_heads(n_head, 2 * head, head, head))
    q = g.rope(head_norm(layer, q, "attn_q_norm", head), rope)
    k = g.rope(head_norm(layer, k, "attn_k_norm", head), rope)
    mixed = attend(layer, q, k, v)
    return layer.linear(g.gate(gate, mixed, "sigmoid"), "attn_output", h.n_embd)


def delta_net(layer: Layer, x: Value) -> Value:
    """Gated delta rule. Beta and alpha come from two matrices, or from ssm_ba, interleaved by key head.

    With ssm_ba (Qwen 3 Next) a key head serves adjacent value heads; without, value head h reads key head h % n.
    """
    g, keys, w = layer.g, layer.h.keys, layer.w
    key, n_key = keys.integer("ssm.state_size"), keys.integer("ssm.group_count")
    n_head, inner = keys.integer("ssm.time_step_rank"), keys.integer("ssm.inner_size")
    value = inner // n_head
    mixed, z = _inputs(layer, x, key, n_key, value, n_head)
    mixed = convolved(layer, mixed, keys.integer("ssm.conv_kernel"))
    q = _unit(layer, g.columns(mixed, 0, key * n_key), key)
    k = _unit(layer, g.columns(mixed, key * n_key, key * n_key), key)
    v = g.columns(mixed, 2 * key * n_key, inner)
    beta, alpha = _beta_alpha(layer, x, n_key, n_head)
    if w.has("ssm_ba.weight"):
        heads = np.repeat(np.arange(n_key), n_head // n_key)
        order = (heads[:, None] * key + np.arange(key)).reshape(-1).astype(np.int32)
        q, k = g.gather(q, order), g.gather(k, order)
    alpha = g.unary(g.vector(alpha, w.need("ssm_dt.bias", n_head), "add"), "softplus")
    decay = g.vector(alpha, w.need("ssm_a", n_head), "mul")
    state = g.state(n_head * value * key)
    y = g.delta_net(g.scale(q, key**-0.5), k, v, decay, g.unary(beta, "sigmoid"), state, key=key, value=value)
    y = g.gate(z, layer.norm(y, "ssm_norm", size=value), "silu")
    return layer.linear(y, "ssm_out", layer.h.n_embd)


def _unit(layer: Layer, x: Value, size: int) -> Value:
    """Segments of `size` columns brought to length 1, the epsilon added to the sum of squares."""
    normed = layer.g.norm(x, None, layer.h.eps / size, kind="rms", size=size)
    return layer.g.scale(normed, size**-0.5)


def _inputs(layer: Layer, x: Value, key: int, n_key: int, value: int, n_head: int) -> tuple[Value, Value]:
    """[q | k | v] of all heads, and the gate z; older files have them interleaved by key head in ssm_in."""
    inner = n_head * value
    if layer.w.has("attn_qkv.weight"):
        return layer.linear(x, "attn_qkv", 2 * key * n_key + inner), layer.linear(x, "attn_gate", inner)
    mixed = layer.linear(x, "ssm_in", 2 * key * n_key + 2 * inner)
    share = inner // n_key
    head = 2 * key + 2 * share
    starts = ((0, key), (key, key), (2 * key, share), (2 * key + share, share))
    q, k, v, z = (part_of_heads(n_key, head, start, size) for start, size in starts)
    return layer.g.gather(mixed, np.concatenate([q, k, v])), layer.g.gather(mixed, z)


def _beta_alpha(layer: Layer, x: Value, n_key: int, n_head: int) -> tuple[Value, Value]:
    if not layer.w.has("ssm_ba.weight"):
        return layer.linear(x, "ssm_beta", n_head), layer.linear(x, "ssm_alpha", n_head)
    both, share = layer.linear(x, "ssm_ba", 2 * n_head), n_head // n_key
    beta = layer.g.gather(both, part_of_heads(n_key, 2 * share, 0, share))
    return beta, layer.g.gather(both, part_of_heads(n_key, 2 * share, share, share))
