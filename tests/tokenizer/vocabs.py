"""Opens the vocabularies that tests use, each once."""

from functools import cache
from pathlib import Path

from llama.modelfile import ModelFile
from llama.tokenizer import Vocab, load_vocab


@cache
def metadata_of(path: Path) -> dict[str, object]:
    with ModelFile.open(path) as file:
        return dict(file.metadata)


@cache
def vocab_of(path: Path) -> Vocab:
    return load_vocab(metadata_of(path))
