"""Turns logits into a token: penalties, filters, temperature, a draw, and the grammar's last word.

Draws as llama.cpp does, so that a seed gives the same text here and there. Knows nothing of requests or time.
"""

from llama.sampling.names import sampler_names
from llama.sampling.params import DEFAULT_SAMPLERS, SamplingParams
from llama.sampling.sampler import Sampled, Sampler
from llama.sampling.vocab import SamplingVocab

__all__ = ["DEFAULT_SAMPLERS", "Sampled", "Sampler", "SamplingParams", "SamplingVocab", "sampler_names"]
