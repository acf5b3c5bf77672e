"""Texts are cut into words as llama.cpp cuts them, for every pre-tokenizer that a file can name."""

import json
from pathlib import Path

import pytest

from llama.errors import ModelFileError
from llama.tokenizer import load_vocab
from llama.tokenizer.pretokenizer import words
from llama.tokenizer.pretokenizers import PRE_TOKENIZERS, pre_tokenizer
from tests.tokenizer.small import gemma4

# The lengths of the words were taken where the ids of all these texts were llama.cpp's.
RECORDED = json.loads(Path(__file__).with_name("words.json").read_text())
LENGTHS = {name: group["of"] for group in RECORDED["lengths"] for name in group["names"]}


def test_every_name_is_recorded() -> None:
    assert LENGTHS.keys() == PRE_TOKENIZERS.keys()


@pytest.mark.parametrize("name", PRE_TOKENIZERS)
def test_words(name: str) -> None:
    for text, lengths in zip(RECORDED["texts"], LENGTHS[name], strict=True):
        found = words(text, pre_tokenizer(name).stages)
        assert "".join(found) == text
        assert [len(word) for word in found] == lengths, found


@pytest.mark.parametrize("name", PRE_TOKENIZERS)
@pytest.mark.parametrize("unit", [" ", "a", "A", "\n", " \n", "7", "1,", "中", "e\u0301", "'", "😀"])
def test_long_runs_take_time_in_proportion(name: str, unit: str) -> None:
    # With work that grows with the square this would take hours; the suite's time limit would end it.
    text = unit * (60_000 // len(unit))
    assert "".join(words(text, pre_tokenizer(name).stages)) == text


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ModelFileError, match=r"'brand-new'.*llama-bpe.*qwen2"):
        load_vocab(gemma4("gpt2", "brand-new"))


def test_no_name_means_the_default_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    metadata = gemma4("gpt2", "default")
    del metadata["tokenizer.ggml.pre"]
    assert load_vocab(metadata).encode("the fox") == load_vocab(gemma4("gpt2", "default")).encode("the fox")
    assert "tokenizer.ggml.pre" in caplog.text
