"""Grouped-query attention and its variations."""

import math
from typing import Any

import numpy as np

from llama.kernels.graph import Attention, Rope, Unary, Value
from llama.kernels.tensor import Tensor
from llama.models.layer import Layer


def qkv(layer: Layer, x: Value, *, head_k: int | None = None, head_v: int | None = None) -> tuple[Value, Value, Value]:
    """Queries, keys and values of x, from three matrices or from a fused one, whichever the file has."""
    h = layer.h
    head_k, head_v = head_k or h.head_k, head_v or h.head_v
    sizes = layer.n_head * head_k, layer.n_head_kv * head_k, layer.n_head_kv * head_v
    if layer.w.has("attn_qkv.weight"):
        q, k, v = layer.split_linear(x, "attn_qkv", *sizes)
    else:
        q, k, v = (layer.linear(x, f"attn_{name}", size) for name, size in zip("qkv", sizes, strict=True))
    return q, k, v


def head_norm(layer: Layer, x: Value, name: str, head: int, kind: str | None = None) -> Value:
    """Queries or keys normed as far as the file has a weight for it.

    A weight of one head's size norms each head, a weight of every column norms the whole row, and one with an axis
    of heads norms each head with weights of its own.
    """
    weight = layer.w.get(f"{name}.weight")
    if weight is None:
        return x
    whole = len(weight.shape) == 1 and weight.shape[0] == x.width
    return layer.norm(x, name, size=None if whole else head, kind=kind)


def grouped_attention(
    layer: Layer,
    x: Value,
    *,
    rope: Rope | None,
    norm_after_rope: bool = False,
    qk_norm: str | None = None,
    clamp: float = 0.0,
    gate: Unary | None = None,
    **options: Any,
) -> Value:
    """Attention of x over the cache, with the projections before and after it.

    rope None: no positions. qk_norm: kind of the norm of queries and keys, the model's own by default.
    clamp: limit of queries, keys and values, if above 0. gate: f of what attn_gate makes of x multiplies the result,
    each column or each head by its own. options: those of `attend`.
    """
    q, k, v = qkv(layer, x)
    if clamp > 0:
        q, k, v = (layer.g.clamp(part, -clamp, clamp) for part in (q, k, v))
    q, k = turned(layer, q, k, rope, norm_after_rope, qk_norm)
    mixed = attend(layer, q, k, v, **options)
    if gate is not None:
        opened = layer.linear(x, "attn_gate", layer.w.need("attn_gate.weight").shape[0])
        mixed = layer.g.mul(mixed, layer.g.unary(opened, gate))
    return layer.linear(mixed, "attn_output", layer.h.n_embd)


def turned(
    layer: Layer, q: Value, k: Value, rope: Rope | None, norm_after_rope: bool = False, qk_norm: str | None = None
) -> tuple[Value, Value]:
    """Queries and keys normed, where the file has the norms, and rotated."""
    head = layer.h.head_k
    if not norm_after_rope:
        q, k = head_norm(layer, q, "attn_q_norm", head, qk_norm), head_norm(layer, k, "attn_k_norm", head, qk_norm)
    if rope is not None:
        q, k = layer.g.rope(q, rope), layer.g.rope(k, rope)
    if norm_after_rope:
        q, k = head_norm(layer, q, "attn_q_norm", head, qk_norm), head_norm(layer, k, "attn_k_norm", head, qk_norm)
    return q, k


def attend(layer: Layer, q: Value, k: Value, v: Value, **options: Any) -> Value:
    """Attention with a new cache layer for k and v.   ->   (T, n_head * head_v)"""
    head_k, head_v = k.width // layer.n_head_kv, v.width // layer.n_head_kv
    cache = layer.g.cache(layer.n_head_kv, head_k, head_v)
    return attend_kv(layer, q, k, v, cache, head_k=head_k, head_v=head_v, n_head_kv=layer.n_head_kv, **options)


def attend_kv(
    layer: Layer,
    q: Value,
    k: Value | None,
    v: Value | None,
    cache: int,
    *,
    head_k: int,
    head_v: int,
    n_head_kv: int,
    scale: float | None = None,
    **options: Any,
) -> Value:
    """Attention over a given cache layer; k and v None: another layer has filled it.

    scale: 1 / sqrt(head_k) by default. options: softcap, window, symmetric, chunk, slopes, sinks of `Attention`.
    """
    attention = Attention(
        cache=cache,
        n_head=q.width // head_k,
        n_head_kv=n_head_kv,
        head_k=head_k,
        head_v=head_v,
        scale=1 / math.sqrt(head_k) if scale is None else scale,
        causal=options.pop("causal", layer.h.causal),
        **options,
    )
    return layer.g.attention(q, k, v, attention)


def alibi_slopes(n_head: int, max_bias: float) -> tuple[float, ...]:
    """ALiBi's slope of each head (Press and others, 2021); counts that are no power of two fill up with odd powers."""
    if max_bias <= 0:
        return ()
    power = 1 << math.floor(math.log2(n_head))
    m0, m1 = 2.0 ** (-max_bias / power), 2.0 ** (-max_bias / 2 / power)
    return tuple(m0 ** (i + 1) if i < power else m1 ** (2 * (i - power) + 1) for i in range(n_head))


def temperature(layer: Layer, q: Value, *, scale: float, length: int, offset: float) -> Value:
    """q times 1 + scale * ln(1 + floor((position + offset) / length)), for positions up to the model's context."""
    positions = np.arange(layer.h.n_ctx)
    factors = 1 + scale * np.log(1 + np.floor((positions + offset) / length))
    table = Tensor.of("temperature", factors.astype(np.float32)[:, None])
    return layer.g.mul(q, layer.g.embed(table, "position"))
