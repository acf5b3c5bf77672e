"""Low-rank adapters in compiled code: each row meets them with the scales of its own sequence.

The first, narrow product is done row by row, so that it needs no barrier behind what made the row and none before it
is scaled; the second is a product like any other, added to the unadapted result in its place. A step in which nobody
uses an adapter skips both.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba import njit

from llama.kernels.context import ALL, N_ROWS, ROW_SEQUENCES, SCALES, SCALES_STRIDE, get, rows_of
from llama.kernels.elements import build_columns
from llama.kernels.graph import Node
from llama.kernels.layout import GROUP, Layout
from llama.kernels.lowering import Lowering, operation, row_bytes
from llama.kernels.matmul import build_tile_run
from llama.kernels.plan import At, Kernel
from llama.kernels.vectors import float_at, int32_at, int_at, put_float


def build_scales() -> Callable[..., None]:
    """Arguments: rows kind, out, its stride, width, address of the adapters (int32), address of their factors."""

    def scales(args: int, context: int, thread: int, threads: int) -> None:
        n, width, ids, factors = get(context, N_ROWS), int_at(args + 48), int_at(args + 56), int_at(args + 64)
        table, stride = get(context, SCALES), get(context, SCALES_STRIDE)
        for t in range(n * thread // threads, n * (thread + 1) // threads):
            out = int_at(args + 32) + t * int_at(args + 40)
            row = table + int32_at(get(context, ROW_SEQUENCES) + 4 * t) * stride
            for j in range(width):
                scale = np.float32(0.0)
                if table:
                    scale = float_at(row + 4 * int32_at(ids + 4 * j)) * float_at(factors + 4 * j)
                put_float(out + 4 * j, scale)

    return scales


def build_narrow(kernel_set: str, layout: Layout) -> Callable[..., None]:
    """(x @ w.T) * scales, each thread its own rows; nothing, where no adapter is used.

    Arguments: rows kind, x, its stride, w, columns, groups, out, its stride, scales, their stride, width, columns a
    scale.
    """
    tiles: Any = build_tile_run(kernel_set, layout)
    group_bytes = layout.code_bytes

    def narrow(args: int, context: int, thread: int, threads: int) -> None:
        n = rows_of(context, int_at(args + 24)) if get(context, SCALES) else 0
        first, last = n * thread // threads, n * (thread + 1) // threads
        x, stride, w, columns = int_at(args + 32), int_at(args + 40), int_at(args + 48), int_at(args + 56)
        out, ostride, width, each = int_at(args + 72), int_at(args + 80), int_at(args + 104), int_at(args + 112)
        for g in range(int_at(args + 64)):
            part = out + first * ostride + 4 * g * GROUP
            codes = w + g * columns * group_bytes
            tiles(codes, 0, x + first * stride, stride, columns, last - first, part, ostride, 0, 0, 0)
        for t in range(first, last):
            row, scales = out + t * ostride, int_at(args + 88) + t * int_at(args + 96)
            for j in range(width):
                put_float(row + 4 * j, float_at(row + 4 * j) * float_at(scales + 4 * (j // each)))

    return narrow


def build_wide(build: Callable[[], Callable[..., None]]) -> Callable[..., None]:
    """The product that `build` makes; nothing, where no adapter is used: the result lies over its residual."""
    product: Any = njit(build())

    def wide(args: int, context: int, thread: int, threads: int) -> None:
        if get(context, SCALES):
            product(args, context, thread, threads)

    return wide


@operation
def adapter_scales(plan: Lowering, index: int, node: Node) -> None:
    out = plan.place(index, ALL)
    ids, factors = (plan.weights.keep(np.asarray(node.attrs[name])) for name in ("adapters", "factors"))
    args: list[int | At] = [ALL, plan.at(index), plan.stride(index), node.width, ids, factors]
    plan.add(Kernel("adapter scales", build_scales), args, set(), {out}, ALL)


@operation
def adapted(plan: Lowering, index: int, node: Node) -> None:
    y, x, scales = node.inputs
    first, second = node.weights
    assert first is not None
    assert second is not None
    a, b = plan.weights.packed(first), plan.weights.packed(second)
    kind, before = plan.kinds[x], plan.at(y)
    narrow = plan.plan.buffer(row_bytes(a.rows))
    stride = plan.plan.strides[narrow]
    each = a.rows // plan.graph.nodes[scales].width
    args: list[int | At] = [kind, plan.at(x), plan.stride(x), a.codes, a.columns, -(-a.rows // GROUP)]
    args += [At("buffer", narrow), stride, plan.at(scales), plan.stride(scales), a.rows, each]
    kernel = Kernel(f"adapter {plan.kernel_set} {a.layout.name}", partial(build_narrow, plan.kernel_set, a.layout))
    plan.add(kernel, args, {plan.places[x], plan.places[scales]}, {narrow}, kind)
    out = plan.place(index, kind, over=y)
    place = plan.at(index), plan.stride(index)
    if before != place[0]:  # others read y too
        copied: list[int | At] = [kind, before, plan.stride(y), *place, node.width, 0, 0]
        plan.add(Kernel("columns", build_columns), copied, {before.index}, {out}, kind)
    plan.multiply((At("buffer", narrow), stride, narrow, 0), kind, b, 0, *place, 0, place)
    product = plan.plan.steps[-1]
    product.kernel = Kernel(f"adapted {product.kernel.name}", partial(build_wide, product.kernel.build))
    plan.plan.release(narrow)
