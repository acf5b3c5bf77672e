"""Turns token ids and a cache into logits: an architecture and the tensors of a model file make a graph that runs.

Knows architectures and their numbers; knows nothing of text, sampling or requests.
"""

from llama.models.adapter import Adapter
from llama.models.hparams import HParams
from llama.models.model import Model, load_model
from llama.models.registry import known_architectures

__all__ = ["Adapter", "HParams", "Model", "known_architectures", "load_model"]
