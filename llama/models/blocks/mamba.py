"""Selective state spaces: Mamba 1 and 2."""

import math

from llama.errors import ModelFileError
from llama.kernels.graph import Value
from llama.models.layer import Layer


def mamba(layer: Layer, x: Value) -> Value:
    """A Mamba 1 mixer: every column is a head of one; step sizes come through a narrow row.

    The norms of dt, B and C are applied where the file has their weights (Jamba), or ssm.dt_b_c_rms asks for them.
    """
    g, keys, w = layer.g, layer.h.keys, layer.w
    inner, n_state = keys.integer("ssm.inner_size"), keys.integer("ssm.state_size")
    rank, taps = keys.integer("ssm.time_step_rank"), keys.integer("ssm.conv_kernel")
    u, z = layer.split_linear(x, "ssm_in", inner, inner)
    u = convolved(layer, u, taps)
    dt, b, c = layer.split_linear(u, "ssm_x", rank, n_state, n_state)
    if keys.flag("ssm.dt_b_c_rms", False) or w.has("ssm_dt_norm.weight"):
        dt, b, c = (_rms(layer, part, f"ssm_{name}_norm") for part, name in ((dt, "dt"), (b, "b"), (c, "c")))
    dt = g.unary(layer.linear(dt, "ssm_dt", inner), "softplus")
    a = w.need("ssm_a", inner, n_state)
    y = g.ssm_scan(u, dt, b, c, a, g.state(inner * n_state), head=1, n_state=n_state)
    y = g.add(y, g.vector(u, w.need("ssm_d", inner), "mul"))
    return layer.linear(g.gate(z, y, "silu"), "ssm_out", layer.h.n_embd)


def _rms(layer: Layer, x: Value, name: str) -> Value:
    return layer.g.norm(x, layer.w.get(f"{name}.weight", x.width), layer.h.eps, kind="rms")


def mamba2(layer: Layer, x: Value) -> Value:
    """A Mamba 2 mixer: one decay a head; in_proj holds z, x, B, C, dt; the norm of each group comes after the gate."""
    g, keys, w = layer.g, layer.h.keys, layer.w
    inner, n_state = keys.integer("ssm.inner_size"), keys.integer("ssm.state_size")
    n_head, groups = keys.integer("ssm.time_step_rank"), keys.integer("ssm.group_count")
    shared = groups * n_state
    z, u, dt = layer.split_linear(x, "ssm_in", inner, inner + 2 * shared, n_head)
    u = convolved(layer, u, keys.integer("ssm.conv_kernel"))
    u, b, c = g.columns(u, 0, inner), g.columns(u, inner, shared), g.columns(u, inner + shared, shared)
    dt = g.unary(g.vector(dt, w.need("ssm_dt.bias", n_head), "add"), "softplus")
    a = w.need("ssm_a", n_head, 1)
    y = g.ssm_scan(u, dt, b, c, a, g.state(inner * n_state), head=inner // n_head, n_state=n_state)
    y = g.add(y, g.mul(u, head_vector(layer, u, "ssm_d", n_head)))
    y = g.gate(z, y, "silu")
    if w.has("ssm_norm.weight"):
        y = layer.norm(y, "ssm_norm", size=inner // groups, kind="rms")
    return layer.linear(y, "ssm_out", layer.h.n_embd)


def head_vector(layer: Layer, like: Value, name: str, n_head: int) -> Value:
    """One weight a head as a value (T, n_head)."""
    ones = layer.g.scale(layer.g.columns(like, 0, n_head), 0.0, 1.0)
    tensor = layer.w.need(name)
    if math.prod(tensor.shape) != n_head:
        raise ModelFileError(f"tensor {tensor.name}: expected {n_head} elements, got {tensor.shape}")
    return layer.g.vector(ones, tensor, "mul")


def convolved(layer: Layer, x: Value, taps: int) -> Value:
    """Short causal convolution of each column, then SiLU."""
    kernel = layer.w.need("ssm_conv1d.weight", x.width, taps)
    bias = layer.w.get("ssm_conv1d.bias", x.width)
    state = layer.g.state((taps - 1) * x.width)
    return layer.g.unary(layer.g.short_conv(x, kernel, bias, state), "silu")
