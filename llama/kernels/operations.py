"""How operations of a graph become steps: sources, matrices, rows, elements. Registered by name in `OPERATIONS`."""

from functools import partial
from typing import Any

import numpy as np

from llama.kernels import attention, elements, embedding, rows
from llama.kernels.attention_blocks import SPAN
from llama.kernels.cache_store import build_store
from llama.kernels.context import ALL, WANTED
from llama.kernels.graph import Attention, Node, Rope
from llama.kernels.layout import GROUP
from llama.kernels.lowering import Lowering, bits, operation
from llama.kernels.plan import At, Kernel


@operation
def embed(plan: Lowering, index: int, node: Node) -> None:
    table = plan.weights.packed(_weight(node, 0))
    which, signed = str(node.attrs["index"]), plan.weights.signed
    kernel = Kernel(
        f"embed {table.layout.name} {which} {signed}", partial(embedding.build_embed, table.layout, which, signed)
    )
    out = plan.place(index, ALL)
    args: list[int | At] = [
        ALL,
        table.codes,
        table.scales,
        table.rows,
        table.columns,
        plan.at(index),
        plan.stride(index),
    ]
    plan.add(kernel, args, set(), {out}, ALL)


@operation
def select(plan: Lowering, index: int, node: Node) -> None:
    x = node.inputs[0]
    out = plan.place(index, WANTED)
    args: list[int | At] = [ALL, plan.at(x), plan.stride(x), plan.at(index), plan.stride(index), node.width]
    plan.add(Kernel("select", elements.build_select), args, {plan.places[x]}, {out})


@operation
def linear(plan: Lowering, index: int, node: Node) -> None:
    x = node.inputs[0]
    w = plan.weights.packed(_weight(node, 0))
    source = plan.source(x, w)
    kind, bias = plan.kinds[x], plan.weights.floats(node.weights[1])
    fused = plan.fused_add(index)
    if fused is None:
        plan.place(index, kind)
        plan.multiply(source, kind, w, 0, plan.at(index), plan.stride(index), bias)
        return
    add, other = fused
    residual = plan.at(other), plan.stride(other)
    plan.place(add, kind, over=other)
    plan.multiply(source, kind, w, 0, plan.at(add), plan.stride(add), bias, residual)
    plan.mark_done(add)


@operation
def head_linear(plan: Lowering, index: int, node: Node) -> None:
    x = node.inputs[0]
    w, kind = plan.weights.packed(_weight(node, 0)), plan.kinds[x]
    source = plan.source(x, w, w.count)
    plan.place(index, kind)
    for head in range(w.count):
        if w.rows % GROUP == 0:
            plan.multiply(source, kind, w, head, plan.at(index, 4 * head * w.rows), plan.stride(index))
            continue
        part = plan.plan.buffer(-(-w.rows // GROUP) * GROUP * 4)
        stride = plan.plan.strides[part]
        plan.multiply(source, kind, w, head, At("buffer", part), stride)
        args: list[int | At] = [
            kind,
            At("buffer", part),
            stride,
            plan.at(index),
            plan.stride(index),
            w.rows,
            0,
            head * w.rows,
        ]
        plan.add(Kernel("columns", elements.build_columns), args, {part}, {plan.places[index]}, kind)
        plan.plan.release(part)


# --- rows ---


@operation
def norm(plan: Lowering, index: int, node: Node) -> None:
    kind, size = str(node.attrs["kind"]), _int(node, "size")
    more: list[int] = [node.width // size, size]
    for tensor in node.weights:
        whole = tensor is not None and int(np.prod(tensor.shape)) != size
        more += [plan.weights.floats(tensor), 4 * size if whole else 0]
    kernel = Kernel(f"norm {kind}", partial(rows.build_norm, kind))
    plan.rowwise(index, node, kernel, *more, bits(float(_any(node, "eps"))))


@operation
def softmax(plan: Lowering, index: int, node: Node) -> None:
    size = _int(node, "size")
    plan.rowwise(index, node, Kernel("softmax", rows.build_softmax), node.width // size, size)


@operation
def reduce(plan: Lowering, index: int, node: Node) -> None:
    kind, size = str(node.attrs["kind"]), _int(node, "size")
    kernel = Kernel(f"reduce {kind}", partial(rows.build_reduce, kind))
    plan.rowwise(index, node, kernel, node.width, size, over=False)


@operation
def rope(plan: Lowering, index: int, node: Node) -> None:
    r = _any(node, "rope")
    assert isinstance(r, Rope)
    table = At("rope", plan.rope_table(r))
    more: list[int | At] = [node.width // r.head, r.head, r.first, len(r.frequencies), table, int(r.neighbours)]
    plan.rowwise(index, node, Kernel("rope", rows.build_rope), *more)


@operation
def attention_(plan: Lowering, index: int, node: Node) -> None:
    a = _any(node, "attention")
    assert isinstance(a, Attention)
    cache = ("cache", a.cache)
    key_bytes = a.n_head_kv * plan.type_k.head_bytes(a.head_k)
    block = key_bytes + a.n_head_kv * plan.type_v.head_bytes(a.head_v)
    types = f"{plan.type_k.name} {plan.type_v.name}"
    if len(node.inputs) == 3:
        k, v = node.inputs[1:]
        store = Kernel(f"store {types}", partial(build_store, plan.type_k, plan.type_v))
        args: list[int | At] = [plan.at(k), plan.stride(k), plan.at(v), plan.stride(v), At("cache", a.cache), block]
        args += [key_bytes, a.n_head_kv, a.head_k, a.head_v]
        plan.add(store, args, {plan.places[k], plan.places[v]}, {cache}, ALL)
    q = node.inputs[0]
    out = plan.place(index, ALL)
    args = [plan.at(q), plan.stride(q), plan.at(index), plan.stride(index), At("cache", a.cache), block, key_bytes]
    args += [a.n_head, a.n_head_kv, a.head_k, a.head_v, bits(a.scale), bits(a.softcap), a.window, int(a.symmetric)]
    slopes = plan.weights.keep(np.array(a.slopes, np.float32)) if a.slopes else 0
    args += [a.chunk, int(a.causal), slopes, plan.weights.floats(a.sinks)]
    kernel = Kernel(
        f"attention {types} {plan.piece_rows} {SPAN}",
        partial(attention.build_attention, plan.type_k, plan.type_v, plan.piece_rows),
    )
    plan.add(kernel, args, {plan.places[q], cache}, {out})


# --- elements ---


@operation
def unary(plan: Lowering, index: int, node: Node) -> None:
    f = str(node.attrs["f"])
    plan.rowwise(index, node, Kernel(f"unary {f}", partial(elements.build_unary, f)), node.width)


@operation
def gate(plan: Lowering, index: int, node: Node) -> None:
    f, u = str(node.attrs["f"]), node.inputs[1]
    kernel = Kernel(f"gate {f}", partial(elements.build_gate, f))
    plan.rowwise(index, node, kernel, node.width, plan.at(u), plan.stride(u))


@operation
def binary(plan: Lowering, index: int, node: Node) -> None:
    f, b = str(node.attrs["f"]), node.inputs[1]
    each = node.width // plan.graph.nodes[b].width
    kernel = Kernel(f"binary {f}", partial(elements.build_binary, f))
    plan.rowwise(index, node, kernel, node.width, plan.at(b), plan.stride(b), each)


@operation
def vector(plan: Lowering, index: int, node: Node) -> None:
    f, w = str(node.attrs["f"]), _weight(node, 0)
    kernel = Kernel(f"vector {f}", partial(elements.build_vector, f))
    plan.rowwise(index, node, kernel, node.width, plan.weights.floats(w), int(np.prod(w.shape)))


@operation
def scale(plan: Lowering, index: int, node: Node) -> None:
    numbers = (bits(float(_any(node, name))) for name in ("factor", "offset"))
    plan.rowwise(index, node, Kernel("scale", elements.build_scale), node.width, *numbers)


@operation
def softcap(plan: Lowering, index: int, node: Node) -> None:
    plan.rowwise(index, node, Kernel("softcap", elements.build_softcap), node.width, bits(float(_any(node, "cap"))))


@operation
def clamp(plan: Lowering, index: int, node: Node) -> None:
    numbers = (bits(float(_any(node, name))) for name in ("low", "high"))
    plan.rowwise(index, node, Kernel("clamp", elements.build_clamp), node.width, *numbers)


@operation
def columns(plan: Lowering, index: int, node: Node) -> None:
    kernel = Kernel("columns", elements.build_columns)
    plan.rowwise(index, node, kernel, node.width, _int(node, "start"), 0, over=False)


@operation
def gather(plan: Lowering, index: int, node: Node) -> None:
    order = plan.weights.keep(np.asarray(_any(node, "order"), np.int32))
    plan.rowwise(index, node, Kernel("gather", elements.build_gather), node.width, order, over=False)


@operation
def concat(plan: Lowering, index: int, node: Node) -> None:
    kind = plan.kinds[node.inputs[0]]
    out = plan.place(index, kind)
    first = 0
    for part in node.inputs:
        width = plan.graph.nodes[part].width
        args: list[int | At] = [
            kind,
            plan.at(part),
            plan.stride(part),
            plan.at(index),
            plan.stride(index),
            width,
            0,
            first,
        ]
        plan.add(Kernel("columns", elements.build_columns), args, {plan.places[part]}, {out}, kind)
        first += width


def _weight(node: Node, i: int) -> Any:
    tensor = node.weights[i]
    assert tensor is not None
    return tensor


def _any(node: Node, name: str) -> Any:
    return node.attrs[name]


def _int(node: Node, name: str) -> int:
    return int(_any(node, name))
