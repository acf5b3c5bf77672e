"""Turns a graph of tensor operations into numbers, twice: in plain numpy and in machine code.

Knows tensors, batches and caches; knows nothing of architectures, tokens' meanings or files.
"""

import importlib
import importlib.util
import logging
from pathlib import Path

from llama.errors import SettingsError
from llama.kernels.executor import Executor
from llama.kernels.graph import Graph
from llama.kernels.reference import ReferenceExecutor

_log = logging.getLogger(__name__)

#: What `kernels` may be: the best that runs, numpy, the best compiled ones, or one compiled set by name.
KERNELS = ("auto", "numpy", "compiled", "avx512-vnni", "avx2-vnni", "avx2", "neon-dotprod", "llvm")
#: Cache types that the compiled kernels keep in a more precise one.
KEPT_AS = {"bf16": "f32", "q5_1": "q8_0", "q5_0": "q8_0", "q4_1": "q8_0", "q4_0": "q8_0"}


def open_executor(
    graph: Graph,
    *,
    kernels: str = "auto",
    n_threads: int = 0,
    type_k: str = "f16",
    type_v: str = "f16",
    n_ctx: int = 0,
    code_folder: Path | None = None,
) -> Executor:
    """Return the fastest executor that can run `graph`.

    kernels: "auto" takes the compiled executor and falls back to numpy with one warning; any other of KERNELS insists.
    n_threads 0: one a core. n_ctx: the longest sequence, 0 when unknown.
    code_folder: where compiled code is kept, None for the platform's cache folder. Raises SettingsError for a name that
    is not one of KERNELS, for kernels that cannot run here, and for an unknown cache type.
    """
    if kernels not in KERNELS:
        raise SettingsError(f"kernels must be one of {', '.join(KERNELS)}, got {kernels}")
    if kernels == "numpy":
        return ReferenceExecutor(graph, type_k=type_k, type_v=type_v)
    options: dict[str, object] = {"n_threads": n_threads, "n_ctx": n_ctx, "code_folder": code_folder}
    try:
        return _compiled(graph, "auto" if kernels == "compiled" else kernels, type_k, type_v, options)
    except _CannotRun as problem:
        if kernels != "auto":
            raise SettingsError(f"the {kernels} kernels cannot run this model here: {problem}") from problem
        _log.warning("using the slow numpy kernels: %s", problem)
        return ReferenceExecutor(graph, type_k=type_k, type_v=type_v)


class _CannotRun(Exception):
    """Why the compiled executor is out of the question."""


def _compiled(graph: Graph, kernels: str, type_k: str, type_v: str, options: dict[str, object]) -> Executor:
    """The compiled executor; _CannotRun where it cannot be used."""
    if importlib.util.find_spec("numba") is None:
        raise _CannotRun("numba is not installed")
    compiled = importlib.import_module("llama.kernels.compiled")
    types = {"type_k": _kept_as(type_k), "type_v": _kept_as(type_v)}
    try:
        executor: Executor = compiled.CompiledExecutor(graph, kernels=kernels, **options, **types)
    except compiled.Unsupported as problem:
        raise _CannotRun(str(problem)) from problem
    return executor


def _kept_as(kind: str) -> str:
    """The cache type that the compiled kernels use for `kind`."""
    kept = KEPT_AS.get(kind, kind)
    if kept != kind:
        _log.warning("cache type %s is kept as %s, which is more precise and takes more memory", kind, kept)
    return kept
