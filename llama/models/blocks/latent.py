"""Latent attention (DeepSeek V2 and V3, MiniCPM 3): keys and values pass through one narrow row a token.

C columns of that row, N columns of a head that do not rotate, R that do.
"""

import numpy as np
from numpy.typing import NDArray

from llama.kernels.graph import Rope, Value
from llama.models.blocks.attention import attend_kv, temperature
from llama.models.layer import Layer


def latent_attention(
    layer: Layer,
    x: Value,
    *,
    rope: Rope,
    key_rope: Rope,
    head_v: int,
    scale: float,
    warmth: tuple[float, int] | None = None,
) -> Value:
    """Attention whose queries come in heads [N | R] and whose keys share one rotated part.

    rope turns the last R columns of a query head, key_rope the shared part. With attn_k_b and attn_v_b in the file the
    latent row itself is cached and all heads share it; with attn_kv_b each head gets keys and values of its own.
    warmth: scale and length of a temperature that grows with the position.
    """
    rotated = 2 * len(rope.frequencies)
    q = _queries(layer, x, layer.n_head * rope.head)
    q = layer.g.rope(q, rope)
    if warmth is not None:
        q = temperature(layer, q, scale=warmth[0], length=warmth[1], offset=0.0)
    width = layer.h.keys.integer("attention.kv_lora_rank")
    both = layer.linear(x, "attn_kv_a_mqa", width + rotated)
    latent = layer.norm(layer.g.columns(both, 0, width), "attn_kv_a_norm")
    shared = layer.g.rope(layer.g.columns(both, width, rotated), key_rope)
    through = _absorbed if layer.w.has("attn_k_b.weight") else _expanded
    mixed = through(layer, q, latent, shared, rope.head, head_v, scale)
    return layer.linear(mixed, "attn_output", layer.h.n_embd)


def _queries(layer: Layer, x: Value, size: int) -> Value:
    """Queries, through a narrow row of their own where the file has its matrices."""
    if layer.w.has("attn_q.weight"):
        return layer.linear(x, "attn_q", size)
    narrow = layer.linear(x, "attn_q_a", layer.h.keys.integer("attention.q_lora_rank"))
    return layer.linear(layer.norm(narrow, "attn_q_a_norm"), "attn_q_b", size)


def _absorbed(layer: Layer, q: Value, latent: Value, shared: Value, head: int, head_v: int, scale: float) -> Value:
    """Every head reads the cached latent row: q_n . (k_b c) = (k_b' q_n) . c."""
    g, n_head, width, rotated = layer.g, layer.n_head, latent.width, shared.width
    own = head - rotated
    still = g.gather(q, part_of_heads(n_head, head, 0, own))
    turning = g.gather(q, part_of_heads(n_head, head, own, rotated))
    absorbed = g.head_linear(still, layer.w.need("attn_k_b.weight", n_head, width, own))
    queries = interleaved(layer, absorbed, turning, n_head)
    cache = g.cache(1, width + rotated, width)
    mixed = attend_kv(
        layer,
        queries,
        g.concat(latent, shared),
        latent,
        cache,
        head_k=width + rotated,
        head_v=width,
        n_head_kv=1,
        scale=scale,
    )
    return g.head_linear(mixed, layer.w.need("attn_v_b.weight", n_head, head_v, width))


def _expanded(layer: Layer, q: Value, latent: Value, shared: Value, head: int, head_v: int, scale: float) -> Value:
    """Every head has keys and values made from the latent row."""
    g, n_head, rotated = layer.g, layer.n_head, shared.width
    own = head - rotated
    both = layer.linear(latent, "attn_kv_b", n_head * (own + head_v))
    still = g.gather(both, part_of_heads(n_head, own + head_v, 0, own))
    values = g.gather(both, part_of_heads(n_head, own + head_v, own, head_v))
    copies = g.gather(shared, np.tile(np.arange(rotated, dtype=np.int32), n_head))
    keys = interleaved(layer, still, copies, n_head)
    cache = g.cache(n_head, head, head_v)
    return attend_kv(layer, q, keys, values, cache, head_k=head, head_v=head_v, n_head_kv=n_head, scale=scale)


def part_of_heads(n_head: int, head: int, start: int, size: int) -> NDArray[np.int32]:
    """Indices of columns start .. start + size of every head."""
    return (np.arange(n_head)[:, None] * head + np.arange(start, start + size)).reshape(-1).astype(np.int32)


def interleaved(layer: Layer, a: Value, b: Value, n_head: int) -> Value:
    """Heads [a | b] out of all heads' a and all heads' b."""
    x, y = a.width // n_head, b.width // n_head
    order = np.concatenate(
        [np.arange(a.width).reshape(n_head, x), a.width + np.arange(b.width).reshape(n_head, y)], axis=1
    )
    return layer.g.gather(layer.g.concat(a, b), order.reshape(-1).astype(np.int32))
