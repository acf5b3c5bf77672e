"""Runs single kernels over arrays."""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from llama.kernels import context as places
from llama.kernels import embedding
from llama.kernels.codecache import Compiler
from llama.kernels.memory import Memory
from llama.kernels.packing import Packed
from llama.kernels.threads import ARGS, ROW, Threads


def run_steps(
    threads: Threads,
    compiler: Compiler,
    context: NDArray[np.int64],
    *steps: tuple[str, Callable[[], Callable[..., None]], list[int]],
) -> None:
    """Run kernels one after the other, each behind a barrier."""
    table = np.zeros((len(steps), ROW), np.int64)
    counters = np.zeros(8 * len(steps), np.int64)
    for i, (name, build, args) in enumerate(steps):
        table[i, :ARGS] = compiler.address(name, build), 1, counters.ctypes.data + 64 * i
        table[i, ARGS : ARGS + len(args)] = args
    threads.run(table, context.ctypes.data)


def embedded_rows(packed: Packed, compiler: Compiler, threads: Threads, *, signed: bool) -> NDArray[np.float32]:
    """All rows of the first matrix, as embedding look-up gives them."""
    context = np.zeros(places.SIZE, np.int64)
    tokens = np.arange(packed.rows, dtype=np.int32)
    context[places.N_ROWS], context[places.TOKENS] = len(tokens), tokens.ctypes.data
    stride = 4 * (packed.columns + 16)
    out = Memory(stride * packed.rows)
    args = [0, packed.codes, packed.scales, packed.rows, packed.columns, out.address, stride]
    build = partial(embedding.build_embed, packed.layout, "token", signed)
    run_steps(threads, compiler, context, (f"embed {packed.layout.name} token {signed}", build, args))
    return out.bytes.view(np.float32).reshape(packed.rows, -1)[:, : packed.columns]
