"""Turns text into token ids and back, with llama.cpp's ids for every text.

Knows vocabularies as GGUF metadata describe them; knows nothing of models or of HTTP.
"""

from llama.tokenizer.detokenizer import Detokenizer
from llama.tokenizer.loading import load_vocab
from llama.tokenizer.vocab import Vocab

__all__ = ["Detokenizer", "Vocab", "load_vocab"]
