"""Turns a `.gguf` file, or the shards of a split one, into metadata and tensors that are views of a memory map.

Every count, offset, length and shape is checked before it is used. Knows bytes and GGML types; knows nothing of models.
"""

from llama.modelfile.file import ModelFile
from llama.modelfile.tensor import FileTensor

__all__ = ["FileTensor", "ModelFile"]
