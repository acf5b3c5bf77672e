"""This package turns request bodies into calls of the engine, and its events into answers. It knows no HTTP."""

from llama.api.service import Service

__all__ = ["Service"]
