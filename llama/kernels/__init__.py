"""Turns a graph of tensor operations into numbers, twice: in plain numpy and in machine code.

Knows tensors, batches and caches; knows nothing of architectures, tokens' meanings or files.
"""

import importlib
import importlib.util
import logging

from llama.errors import SettingsError
from llama.kernels.executor import Executor
from llama.kernels.graph import Graph
from llama.kernels.reference import ReferenceExecutor

_log = logging.getLogger(__name__)

KERNELS = ("auto", "compiled", "numpy")


def open_executor(
    graph: Graph,
    *,
    kernels: str = "auto",
    n_threads: int = 0,
    type_k: str = "f16",
    type_v: str = "f16",
    n_ctx: int = 0,
) -> Executor:
    """Return the fastest executor that can run `graph`.

    kernels: "auto" takes the compiled executor and falls back to numpy with one warning; "compiled" and "numpy" insist.
    n_threads 0: one a core. n_ctx: the longest sequence, 0 when unknown; it sizes scratch memory only.
    """
    if kernels not in KERNELS:
        raise SettingsError(f"kernels must be one of {', '.join(KERNELS)}, got {kernels}")
    if kernels != "numpy":
        executor = _compiled(graph, n_threads, type_k, type_v, n_ctx)
        if executor is not None:
            return executor
        if kernels == "compiled":
            raise SettingsError("the compiled kernels cannot run this model here; use kernels numpy")
    return ReferenceExecutor(graph, type_k=type_k, type_v=type_v)


def _compiled(graph: Graph, n_threads: int, type_k: str, type_v: str, n_ctx: int) -> Executor | None:
    """The compiled executor, or None with a warning where it cannot be used."""
    if any(importlib.util.find_spec(name) is None for name in ("numba", "llama.kernels.compiled")):
        _log.warning("numba is not installed: using the slow numpy kernels")
        return None
    compiled = importlib.import_module("llama.kernels.compiled")
    try:
        executor: Executor = compiled.CompiledExecutor(
            graph, n_threads=n_threads, type_k=type_k, type_v=type_v, n_ctx=n_ctx
        )
    except compiled.Unsupported as problem:
        _log.warning("the compiled kernels cannot run this model (%s): using the slow numpy kernels", problem)
        return None
    return executor
