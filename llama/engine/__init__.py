"""Turns requests into streams of token events: slots, cache blocks, batches, one thread.

Knows time and token ids; knows nothing of JSON, chat messages or HTTP.
"""

from llama.engine.engine import Engine, Running
from llama.engine.handle import Handle
from llama.engine.model import LanguageModel, Loaded
from llama.engine.slot import SlotInfo

__all__ = ["Engine", "Handle", "LanguageModel", "Loaded", "Running", "SlotInfo"]
