"""Models that are not on this machine yet: the default one, and those of the model hub."""

from llama.modelfile.hub import hub_model
from llama.modelfile.wheel import default_model

__all__ = ["default_model", "hub_model"]
