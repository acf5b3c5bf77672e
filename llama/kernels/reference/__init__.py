"""Runs a graph in plain numpy: slow, obvious, and the definition of right for every other executor."""

from llama.kernels.reference.executor import ReferenceExecutor

__all__ = ["ReferenceExecutor"]
