"""Streams of tokens become text piece by piece, with nothing lost, doubled or cut within a character."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llama.tokenizer import Detokenizer, Vocab, load_vocab
from tests.tokenizer.small import SMALL, spm


@cache
def vocab() -> Vocab:
    return load_vocab(spm())


def feed(ids: list[int], **options: bool) -> list[str]:
    stream = Detokenizer(vocab(), **options)
    return [*(stream.feed(id) for id in ids), stream.flush()]


def test_half_a_character_is_held_back() -> None:
    ids = vocab().encode("🦙", add_special=False)
    assert len(ids) == 5, "the blank in front and four bytes"
    stream = Detokenizer(vocab())
    assert [(stream.feed(id), stream.pending) for id in ids] == [
        (" ", False),
        ("", True),
        ("", True),
        ("", True),
        ("🦙", False),
    ]
    assert stream.flush() == ""


def test_what_never_becomes_a_character_is_replaced() -> None:
    first, second = (vocab().encode("🦙", add_special=False)[i] for i in (1, 2))
    the = vocab().token_id("▁the")
    assert the is not None
    assert feed([first, the, first, second]) == ["", "\ufffd the", "", "", "\ufffd"]
    assert feed([second]) == ["\ufffd", ""]


def test_control_tokens_are_hidden_unless_asked_for() -> None:
    ids = vocab().encode("<|im_start|>the<|im_end|>", add_special=False)
    assert "".join(feed(ids)) == " the"
    assert "".join(feed(ids, special=True)) == "<|im_start|> the<|im_end|>"
    stream = Detokenizer(vocab(), preserved=frozenset([ids[0]]))
    assert [stream.feed(id) for id in ids] == ["<|im_start|>", " the", ""]


@given(st.lists(st.integers(0, 655)))
def test_the_stream_is_the_whole_text(ids: list[int]) -> None:
    assert "".join(feed(ids)) == vocab().decode(ids, special=False)
    assert "".join(feed(ids, special=True)) == vocab().decode(ids)


@given(st.text().filter(lambda text: "▁" not in text))  # that one stands for a blank
def test_any_text_comes_back(text: str) -> None:
    ids = vocab().encode(text, add_special=False, parse_special=False)
    if text and not text.startswith(("[INST]", "\t\t")):
        assert "".join(feed(ids)) == " " + text
    assert vocab().clean(ids).decode() == text


@pytest.mark.parametrize("name", ["sarvam", "gemma4", "rwkv", "plamo2"])
def test_any_text_comes_back_from_other_kinds(name: str) -> None:
    other = load_vocab(SMALL[name]())
    for text in ("the fox", "  two  ", "x  ", "a\n\n\n b", "🦙.cpp ֏", "Café (NFC)", "Cafe\u0301", "ﬁne ＡＢＣ ①"):
        shown = other.join(other.encode(text, add_special=False))
        assert shown.decode() == text
