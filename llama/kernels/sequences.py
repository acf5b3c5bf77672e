"""How expert and recurrent operations become steps."""

from functools import partial
from typing import Any

import numpy as np

from llama.kernels import moe, recurrent
from llama.kernels.context import ALL
from llama.kernels.graph import Node, Routing
from llama.kernels.layout import BLOCK, GROUP
from llama.kernels.lowering import Lowering, bits, operation
from llama.kernels.plan import At, Kernel
from llama.kernels.storage import state_bytes


@operation
def route(plan: Lowering, index: int, node: Node) -> None:
    r: Any = node.attrs["routing"]
    assert isinstance(r, Routing)
    plan.scratch = max(plan.scratch, 4 * (2 * r.n_expert + r.groups) + 64)
    chosen = 1 if r.softmax_chosen else 2 if r.sigmoid_chosen else 0
    more = [r.n_expert, r.n_used, moe.GATES[r.gate], chosen, int(r.normalise), bits(r.scale)]
    more += [plan.weights.floats(r.bias), r.groups, r.groups_used]
    plan.rowwise(index, node, Kernel("route", moe.build_route), *more, over=False)


@operation
def expert_linear(plan: Lowering, index: int, node: Node) -> None:
    x, chosen = node.inputs
    w, kind = plan.weights.packed(_first(node)), plan.kinds[x]
    slots = plan.graph.nodes[chosen].width // 2
    own = plan.graph.nodes[x].width // w.columns  # 1: all slots share the input
    source, stride, buffer, segment = plan.source(x, w, own)
    out = plan.place(index, kind)
    layout = w.layout
    steps = w.columns if layout.is_float else w.columns // BLOCK
    piece = max(1, -(-w.rows // GROUP) // (2 * plan.threads))
    args: list[int | At] = [kind, source, stride, segment if own > 1 else 0, w.codes, w.scales]
    args += [w.code_stride, w.scale_stride, w.rows, steps, plan.at(index), plan.stride(index)]
    args += [plan.at(chosen), plan.stride(chosen), slots, plan.weights.floats(node.weights[1]), piece]
    args += [steps * layout.code_bytes, 0 if layout.is_float else steps * layout.scale_bytes, w.count]
    name = f"experts {plan.kernel_set} {layout.name}"
    kernel = Kernel(name, partial(moe.build_experts, plan.kernel_set, layout))
    plan.add(kernel, args, {buffer, plan.places[chosen]}, {out})


@operation
def expert_sum(plan: Lowering, index: int, node: Node) -> None:
    chosen = node.inputs[1]
    more: list[int | At] = [node.width, plan.at(chosen), plan.stride(chosen), plan.graph.nodes[chosen].width // 2]
    plan.rowwise(index, node, Kernel("expert_sum", moe.build_expert_sum), *more, over=False)


@operation
def short_conv(plan: Lowering, index: int, node: Node) -> None:
    x, w = node.inputs[0], _first(node)
    taps, width = w.shape[-1], node.width
    weights = plan.weights.keep(np.pad(w.floats().reshape(width, taps).T.reshape(-1), (0, GROUP)))
    out = plan.place(index, ALL)
    args: list[int | At] = [plan.at(x), plan.stride(x), plan.at(index), plan.stride(index), width, taps, weights]
    args += [plan.weights.floats(node.weights[1]), *_state(plan, node)]
    _along(plan, Kernel("short_conv", recurrent.build_short_conv), args, node, out)


@operation
def delta_net(plan: Lowering, index: int, node: Node) -> None:
    key, value = _number(node, "key"), _number(node, "value")
    out = plan.place(index, ALL)
    args: list[int | At] = []
    for i in node.inputs:
        args += [plan.at(i), plan.stride(i)]
    args += [plan.at(index), plan.stride(index), node.width // value, plan.graph.nodes[node.inputs[0]].width // key]
    args += [key, value, *_state(plan, node)]
    _along(plan, Kernel("delta_net", recurrent.build_delta_net), args, node, out)


@operation
def ssm_scan(plan: Lowering, index: int, node: Node) -> None:
    head, n_state = _number(node, "head"), _number(node, "n_state")
    heads, groups = node.width // head, plan.graph.nodes[node.inputs[2]].width // n_state
    a = _first(node)
    per_column = int(int(np.prod(a.shape)) == heads * n_state and n_state > 1)
    out = plan.place(index, ALL)
    args: list[int | At] = []
    for i in node.inputs:
        args += [plan.at(i), plan.stride(i)]
    args += [plan.at(index), plan.stride(index), heads, groups, head, n_state, plan.weights.floats(a), per_column]
    args += [*_state(plan, node), max(1, 64 // head)]
    _along(plan, Kernel("ssm_scan", recurrent.build_ssm_scan), args, node, out)


def _along(plan: Lowering, kernel: Kernel, args: list[int | At], node: Node, out: int) -> None:
    state = ("state", _number(node, "state"))
    plan.add(kernel, args, {plan.places[i] for i in node.inputs} | {state}, {out, state})


def _state(plan: Lowering, node: Node) -> tuple[At, int]:
    """Where a state layer lies, and the bytes of one state."""
    index = _number(node, "state")
    return At("state", index), state_bytes(plan.graph.state_sizes[index])


def _first(node: Node) -> Any:
    tensor = node.weights[0]
    assert tensor is not None
    return tensor


def _number(node: Node, name: str) -> int:
    value: Any = node.attrs[name]
    return int(value)
