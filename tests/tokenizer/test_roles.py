"""Which tokens end a text, begin a fill-in-the-middle, and so on, by keys and by their texts."""

import numpy as np
import pytest

from llama.tokenizer import Vocab, load_vocab
from tests.tokenizer.small import CONTROL, NORMAL, Metadata, spm


def with_tokens(*texts: str, type: int = CONTROL, **keys: object) -> Vocab:
    """A small vocabulary whose last tokens are `texts`."""
    metadata: Metadata = spm(**keys)
    old = metadata["tokenizer.ggml.tokens"]
    types, scores = metadata["tokenizer.ggml.token_type"], metadata["tokenizer.ggml.scores"]
    assert isinstance(old, list)
    assert isinstance(types, np.ndarray)
    assert isinstance(scores, np.ndarray)
    metadata["tokenizer.ggml.tokens"] = [*old, *texts]
    metadata["tokenizer.ggml.token_type"] = np.append(types, np.full(len(texts), type, np.int32))
    metadata["tokenizer.ggml.scores"] = np.append(scores, np.zeros(len(texts), np.float32))
    return load_vocab(metadata)


def texts(vocab: Vocab, ids: frozenset[int]) -> set[str]:
    return {vocab.text(id) for id in ids}


def test_keys_count_before_defaults() -> None:
    vocab = load_vocab(spm(bos_token_id=3, eos_token_id=4, padding_token_id=1, eot_token_id=0))
    assert (vocab.bos, vocab.eos, vocab.pad, vocab.eot) == (3, 4, 1, 0)


def test_ids_out_of_range_are_ignored_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    vocab = load_vocab(spm(bos_token_id=10**6))
    assert vocab.bos == 1
    assert "bos_token_id" in caplog.text


@pytest.mark.parametrize("end", ["<|eot_id|>", "<end_of_turn>", "<|end_of_text|>", "[EOS]", "<turn|>", "<|eom_id|>"])
def test_end_tokens_are_known_by_their_text(end: str) -> None:
    vocab = with_tokens(end, type=NORMAL)
    assert texts(vocab, vocab.eog) == {"</s>", "<|im_end|>", "<|endoftext|>", end}
    assert vocab.is_control(vocab.n_vocab - 1), "whatever its type in the file"
    assert vocab.pieces[-1] == b""


def test_fill_in_the_middle_tokens_are_known_by_their_text() -> None:
    names = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>")
    vocab = with_tokens(*names)
    parts = (vocab.fim_pre, vocab.fim_suf, vocab.fim_mid, vocab.fim_pad, vocab.fim_rep, vocab.fim_sep)
    assert tuple(vocab.text(part) for part in parts if part is not None) == names
    assert {"<|fim_pad|>", "<|repo_name|>", "<|file_sep|>"} <= texts(vocab, vocab.eog)
    assert not {"<|fim_prefix|>", "<|fim_middle|>"} & texts(vocab, vocab.eog)


def test_a_vocabulary_without_them_has_none() -> None:
    vocab = load_vocab(spm())
    assert (vocab.fim_pre, vocab.fim_suf, vocab.fim_mid, vocab.mask, vocab.sep) == (None,) * 5


def test_the_parts_of_gpt_oss_answers_are_shown_and_its_end_of_part_does_not_end_the_text() -> None:
    vocab = with_tokens("<|channel|>", "<|message|>", "<|start|>", "<|end|>", "<|return|>", "<|call|>")
    assert {"<|return|>", "<|call|>"} <= texts(vocab, vocab.eog)
    assert "<|end|>" not in texts(vocab, vocab.eog)
    for text in ("<|channel|>", "<|message|>", "<|start|>", "<|end|>"):
        id = vocab.token_id(text)
        assert id is not None
        assert vocab.piece(id, special=False) == text.encode()


def test_an_end_of_sentence_that_is_plain_text_does_not_end_a_text() -> None:
    vocab = with_tokens("<|tool_response>", eos_token_id=3)
    assert "</s>" not in texts(vocab, vocab.eog)
    assert not vocab.is_control(2)
