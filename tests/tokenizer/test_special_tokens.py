"""Special tokens in a text: when they are found, and what becomes of the white space beside them."""

import numpy as np
import pytest

from llama.tokenizer import Vocab, load_vocab
from tests.tokenizer.small import SMALL, spm, ugm


@pytest.fixture(scope="module")
def vocab() -> Vocab:
    return load_vocab(spm(add_space_prefix=False, add_bos_token=False))


def test_control_tokens_are_found_only_when_asked_for(vocab: Vocab) -> None:
    start = vocab.token_id("<|im_start|>")
    assert vocab.encode("<|im_start|>the") == [start, vocab.token_id("the")]
    plain = vocab.encode("<|im_start|>the", parse_special=False)
    assert start not in plain
    assert vocab.decode(plain) == "<|im_start|>the"


def test_user_defined_tokens_are_found_in_any_case(vocab: Vocab) -> None:
    assert vocab.encode("[INST]the", parse_special=False) == [vocab.token_id("[INST]"), vocab.token_id("the")]


def test_longer_tokens_are_found_before_shorter_ones() -> None:
    vocab = load_vocab(ugm(fixed=("<a", "<a>", "a>b")))
    assert vocab.text(vocab.encode("<a>b", add_special=False)[0]) == "<a>"


def test_a_named_model_takes_white_space_behind_special_tokens() -> None:
    vocab = load_vocab(SMALL["spm named phi-3"]())
    end = vocab.token_id("<|im_end|>")
    assert vocab.encode("<|im_end|> \n\t<|im_end|>", add_special=False) == [end, end]
    bos = vocab.token_id("<s>")
    assert vocab.encode("<s> <s>", add_special=False) != [bos, bos]


def test_the_mask_takes_white_space_before_it() -> None:
    vocab = load_vocab(SMALL["ugm mask"]())
    mask = vocab.token_id("<mask>")
    assert vocab.encode(" \n <mask>", add_special=False) == [mask]


def test_many_special_tokens_are_found_without_looking_for_each() -> None:
    metadata = spm(add_space_prefix=False, add_bos_token=False)
    texts = metadata["tokenizer.ggml.tokens"]
    assert isinstance(texts, list)
    n = len(texts)
    metadata["tokenizer.ggml.tokens"] = texts + [f"<unused{i}>" for i in range(5000)]
    for key, value in (("token_type", 3), ("scores", 0.0)):
        old = metadata[f"tokenizer.ggml.{key}"]
        assert isinstance(old, np.ndarray)
        metadata[f"tokenizer.ggml.{key}"] = np.append(old, np.full(5000, value, old.dtype))
    vocab = load_vocab(metadata)
    assert vocab.encode("<unused7><unused4999>") == [n + 7, n + 4999]
    assert len(vocab.encode("<u" * 100_000)) == 200_000
