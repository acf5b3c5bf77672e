"""Made-up vocabularies of every kind give the ids that llama.cpp gave for the same files."""

import json
from pathlib import Path

import pytest

from llama.tokenizer import load_vocab
from tests.tokenizer.small import SMALL

RECORDED = json.loads(Path(__file__).with_name("small_ids.json").read_text())


@pytest.mark.parametrize("name", SMALL)
def test_ids_are_those_of_llama_cpp(name: str) -> None:
    vocab = load_vocab(SMALL[name]())
    for text, add_special, parse_special, ids in RECORDED[name]:
        assert vocab.encode(text, add_special=add_special, parse_special=parse_special) == ids, text
