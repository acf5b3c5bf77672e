"""Mixtures of experts: a router picks a few networks for each token."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from llama.errors import ModelFileError
from llama.kernels.graph import Routing, Unary, Value
from llama.kernels.tensor import Tensor
from llama.models.blocks.ffn import gated_ffn
from llama.models.layer import Layer

#: Combines the gate's and up's outputs of an expert.
Combine = Callable[[Layer, Value, Value], Value]

Gate = Literal["softmax", "sigmoid", "none"]

_GATES: dict[int, Gate] = {1: "softmax", 2: "sigmoid", 3: "none"}


def routing(layer: Layer, gate: Gate | None = None, **options: Any) -> Routing:
    """How this layer chooses experts, from the metadata; options override fields of `Routing`.

    gate None: what expert_gating_func says, softmax where it says nothing.
    """
    keys, h = layer.h.keys, layer.h
    if gate is None:
        number = keys.integer("expert_gating_func", 0) or 1
        if number not in _GATES:
            raise ModelFileError(f"{keys.name('expert_gating_func')} must be 1, 2 or 3, got {number}")
        gate = _GATES[number]
        options.setdefault("softmax_chosen", number == 3)
    used = h.n_experts_used[layer.il]
    if not 1 <= used <= h.n_expert:
        raise ModelFileError(f"cannot use {used} of {h.n_expert} experts in layer {layer.il}")
    fields: dict[str, Any] = {
        "n_expert": h.n_expert,
        "n_used": used,
        "gate": gate,
        "scale": keys.number("expert_weights_scale", 0.0) or 1.0,
        "bias": layer.w.get(layer.w.first("exp_probs_b.bias", "exp_probs_b"), h.n_expert),
        **_groups(layer),
        **options,
    }
    return Routing(**fields)


def _groups(layer: Layer) -> dict[str, int]:
    groups = layer.h.keys.integer("expert_group_count", 0)
    used = layer.h.keys.integer("expert_group_used_count", 0)
    if groups <= 1:
        return {}
    if layer.h.n_expert % groups or not 1 <= used <= groups:
        raise ModelFileError(f"cannot use {used} of {groups} groups of {layer.h.n_expert} experts")
    return {"groups": groups, "groups_used": used}


def experts(
    layer: Layer,
    x: Value,
    route: Routing,
    *,
    act: Unary = "silu",
    n_ff: int | None = None,
    combine: Combine | None = None,
    router_input: Value | None = None,
    router_logits: Value | None = None,
    weights_first: bool = False,
    n_out: int | None = None,
) -> Value:
    """The weighted sum of the chosen experts' outputs.

    combine: in place of act(gate) * up. router_input: what the router looks at, x by default; router_logits: its
    result, computed outside. weights_first: the weights multiply the experts' input (llama4). n_out: columns of the
    result, those of the stream by default; x has as many.
    """
    g, h, w = layer.g, layer.h, layer.w
    n_ff = n_ff or expert_width(layer)
    if router_logits is None:
        router_logits = layer.linear(x if router_input is None else router_input, "ffn_gate_inp", h.n_expert)
    chosen = g.route(router_logits, route)
    if weights_first:
        copies = g.gather(x, np.tile(np.arange(x.width, dtype=np.int32), route.n_used))
        x = g.mul(copies, g.columns(chosen, route.n_used, route.n_used))
    n_out = n_out or h.n_embd
    hidden = _hidden(layer, x, chosen, n_out, n_ff, act, combine)
    down = w.stacked("ffn_down", h.n_expert, n_out, n_ff)
    out = g.expert_linear(hidden, down, chosen, w.get("ffn_down_exps.bias", h.n_expert, n_out))
    out = times_expert_scale(layer, out, chosen, "ffn_down_exps")
    if weights_first:
        return slot_sum(layer, out, route.n_used)
    return g.expert_sum(out, chosen)


def _hidden(
    layer: Layer, x: Value, chosen: Value, columns: int, n_ff: int, act: Unary, combine: Combine | None
) -> Value:
    """What the experts' last matrices read.   ->   (T, K * n_ff)"""
    g, w, n, k = layer.g, layer.w, layer.h.n_expert, chosen.width // 2

    def through(name: str, size: int) -> Value:
        matrix = w.stacked(name, n, size, columns)
        y = g.expert_linear(x, matrix, chosen, w.get(f"{name}_exps.bias", n, size))
        return times_expert_scale(layer, y, chosen, f"{name}_exps")

    if w.has("ffn_gate_up_exps.weight"):
        both = through("ffn_gate_up", 2 * n_ff)
        order = np.arange(k * 2 * n_ff, dtype=np.int32).reshape(k, 2, n_ff)
        gate, up = g.gather(both, order[:, 0].reshape(-1)), g.gather(both, order[:, 1].reshape(-1))
    elif w.has("ffn_gate_exps.weight") or w.has("ffn_gate.0.weight"):
        gate, up = through("ffn_gate", n_ff), through("ffn_up", n_ff)
    else:
        return g.unary(through("ffn_up", n_ff), act)
    return combine(layer, gate, up) if combine is not None else g.gate(gate, up, act)


def times_expert_scale(layer: Layer, y: Value, chosen: Value, name: str) -> Value:
    """Each slot times the number that its expert has in `name.scale`, where the file has one."""
    scale = layer.w.get(f"{name}.scale", layer.h.n_expert)
    if scale is None:
        return y
    ones = layer.g.scale(layer.g.columns(chosen, 0, 1), 0.0, 1.0)
    table = Tensor(scale.name, scale.type, (layer.h.n_expert, 1, 1), scale.data.reshape(layer.h.n_expert, 1, -1))
    return layer.g.mul(y, layer.g.expert_linear(ones, table, chosen))


def slot_sum(layer: Layer, x: Value, k: int) -> Value:
    """The plain sum of k slots side by side."""
    n = x.width // k
    total = layer.g.columns(x, 0, n)
    for slot in range(1, k):
        total = layer.g.add(total, layer.g.columns(x, slot * n, n))
    return total


def expert_width(layer: Layer) -> int:
    """Columns between an expert's matrices: expert_feed_forward_length, else feed_forward_length."""
    return layer.h.keys.per_layer("expert_feed_forward_length", layer.h.n_layer)[layer.il] or layer.n_ff


def dense_or_experts(
    layer: Layer,
    x: Value,
    *,
    gate: Gate | None = None,
    normalise: bool | None = None,
    own_width: bool = True,
    shared: int | None = None,
    **options: Any,
) -> Value:
    """A gated network; in layers with a router experts, and next to them a shared one where the file has it.

    gate None: what the metadata says, see `routing`; normalise None: what expert_weights_norm says. own_width: experts
    are as wide as expert_feed_forward_length says, else as feed_forward_length. shared: width of the shared one, from
    the metadata by default. options: those of `experts`.
    """
    if not layer.w.has("ffn_gate_inp.weight"):
        return gated_ffn(layer, x)
    if normalise is None:
        normalise = layer.h.keys.flag("expert_weights_norm", False)
    route = routing(layer, gate, normalise=normalise)
    out = experts(layer, x, route, n_ff=None if own_width else layer.n_ff, **options)
    if layer.w.has("ffn_up_shexp.weight"):
        out = layer.g.add(out, shared_expert(layer, x, n_ff=shared))
    return out


def shared_expert(layer: Layer, x: Value, act: Unary = "silu", n_ff: int | None = None) -> Value:
    """The expert that every token visits. Where the file has a gate for it, its sigmoid scales the result."""
    n_ff = n_ff or shared_width(layer)
    out = gated_ffn(layer, x, act, n_ff, "_shexp")
    gate = layer.w.get("ffn_gate_inp_shexp.weight")
    if gate is None:
        return out
    gate = Tensor(gate.name, gate.type, (1, x.width), gate.data.reshape(1, -1))
    return layer.g.mul(out, layer.g.unary(layer.g.linear(x, gate), "sigmoid"))


def shared_width(layer: Layer) -> int:
    """Columns of the shared expert: its own key, else as many experts' widths as there are shared ones."""
    keys = layer.h.keys
    own = keys.integer("expert_shared_feed_forward_length", 0)
    return own or expert_width(layer) * max(1, keys.integer("expert_shared_count", 1))
