"""Mistakes that users of other servers reported; B numbers are those of the shared list of reports."""

from pathlib import Path

import pytest

from llama.errors import ModelFileError, NotSupported
from llama.tokenizer import Vocab, load_vocab
from tests.tokenizer.small import SMALL, charmap, gemma4, spm, spm_without_bytes, ugm
from tests.tokenizer.vocabs import vocab_of

ROUND_TRIPS = ("text", "  two spaces", "a\n b", "", " ", "x  ", "hello !", "a , b", "it 's", "x . y")


@pytest.fixture(scope="module")
def gpt2(shared: Path) -> Vocab:
    return vocab_of(shared / "vocab/ggml-vocab-gpt-2.gguf")


@pytest.mark.parametrize("prefix", [True, False])
@pytest.mark.parametrize("text", ROUND_TRIPS)
def test_b159_the_blank_put_in_front_is_taken_off_again(text: str, prefix: bool) -> None:
    vocab = load_vocab(spm(add_space_prefix=prefix))
    assert vocab.clean(vocab.encode(text, add_special=False)).decode() == text
    marked = vocab.encode(f"<s>{text}</s>", add_special=False)
    assert (marked[0], marked[-1]) == (vocab.bos, vocab.eos)
    if not prefix:
        assert vocab.decode(marked) == f"<s>{text}</s>"


def test_b161_text_behind_special_tokens_is_as_in_llama_cpp() -> None:
    # transformers has no blank in front of text behind a special token; llama.cpp puts it there, and so do we.
    vocab = load_vocab(spm())
    for text, shown in (
        ("<|im_start|>the", "<|im_start|> the"),
        ("</s> the", "</s>  the"),
        ("[INST] the [/INST]", "[INST]  the [/INST]"),
    ):
        assert vocab.decode(vocab.encode(text, add_special=False)) == shown
    ids = vocab.encode("<|im_start|>the", add_special=False)
    assert [vocab.text(id) for id in ids] == ["<|im_start|>", "▁the"]


def test_b164_bytes_stand_in_for_characters_without_a_token(gpt2: Vocab) -> None:
    text = "this is 🦙.cpp ֏"
    for vocab in (load_vocab(spm()), load_vocab(gemma4()), load_vocab(SMALL["rwkv"]()), gpt2):
        assert vocab.clean(vocab.encode(text, add_special=False)).decode() == text


def test_b164_without_bytes_they_are_unknown_or_left_out() -> None:
    vocab = load_vocab(spm_without_bytes())
    ids = vocab.encode("the 🦙 fox", add_special=False)
    assert vocab.unk in ids
    assert vocab.token_id("▁fox") == ids[-1]
    unknown = load_vocab(ugm())
    assert unknown.encode("the🦙🦙fox", add_special=False).count(unknown.unk or 0) == 1


def test_b165_pieces_are_bytes_not_spellings(gpt2: Vocab) -> None:
    assert (gpt2.pieces[198], gpt2.pieces[220]) == (b"\n", b" ")
    assert (gpt2.text(198), gpt2.text(220)) == ("Ċ", "Ġ")
    vocab = load_vocab(spm())
    byte = vocab.token_id("<0x0A>")
    assert byte is not None
    assert vocab.pieces[byte] == b"\n"
    assert vocab.pieces[1] == b""


@pytest.mark.parametrize("text", ROUND_TRIPS)
def test_b166_shown_text_is_not_tidied(gpt2: Vocab, text: str) -> None:
    assert gpt2.decode(gpt2.encode(text)) == text


def test_b167_byte_pair_vocabularies_do_not_normalise(gpt2: Vocab) -> None:
    composed, parted = "Café déjà vu — 123 😊", "Cafe\u0301 de\u0301ja\u0300 vu — 123 😊"
    assert gpt2.encode(composed) != gpt2.encode(parted)
    for text in (composed, parted, "ﬁne", "ＡＢＣ", "①"):
        assert gpt2.decode(gpt2.encode(text)) == text


def test_b167_vocabularies_with_a_normaliser_apply_it() -> None:
    vocab = load_vocab(SMALL["ugm merged"]())
    assert vocab.encode("cafe\u0301  \u200bＡ") == vocab.encode("café A")


def test_lone_surrogates_are_three_bytes() -> None:
    for vocab in (load_vocab(spm()), load_vocab(gemma4()), load_vocab(SMALL["rwkv"]())):
        assert vocab.encode("the\ud800fox", add_special=False)


@pytest.mark.parametrize(
    ("broken", "named"),
    [
        ({"tokenizer.ggml.model": "brand-new"}, "brand-new"),
        ({"tokenizer.ggml.tokens": None}, "tokenizer.ggml.tokens"),
        ({"tokenizer.ggml.tokens": ["a", 1]}, "tokenizer.ggml.tokens"),
        ({"tokenizer.ggml.scores": [1.0]}, "tokenizer.ggml.scores"),
        ({"tokenizer.ggml.token_type": "x"}, "tokenizer.ggml.token_type"),
    ],
)
def test_a_broken_vocabulary_is_refused_by_name(broken: dict[str, object], named: str) -> None:
    with pytest.raises(ModelFileError, match=named):
        load_vocab(spm() | broken)


def test_too_few_types_or_a_missing_merge_list_are_refused() -> None:
    metadata = spm()
    metadata["tokenizer.ggml.tokens"] = [*"abc", *map(str, range(5000))]
    with pytest.raises(ModelFileError, match="entries for 5003 tokens"):
        load_vocab(metadata)
    with pytest.raises(ModelFileError, match=r"tokenizer\.ggml\.merges"):
        load_vocab(gemma4("gpt2", "default") | {"tokenizer.ggml.merges": None})


def test_a_damaged_map_of_characters_is_refused_or_harmless() -> None:
    with pytest.raises(ModelFileError, match="precompiled_charsmap"):
        load_vocab(ugm(precompiled_charsmap=charmap()[:1000]))
    damaged = charmap().copy()
    damaged[4::3] ^= 0x5A
    vocab = load_vocab(ugm(precompiled_charsmap=damaged))
    assert isinstance(vocab.encode("the quick ＡＢＣ a\u0301 ﬁ \u200b zz"), list)


def test_a_model_without_tokenizer_takes_ids_only() -> None:
    vocab = load_vocab({"tokenizer.ggml.model": "none", "general.architecture": "llama", "llama.vocab_size": 12})
    assert (vocab.n_vocab, vocab.bos, vocab.eog, vocab.decode([1, 2])) == (12, None, frozenset(), "")
    with pytest.raises(NotSupported, match="token ids"):
        vocab.encode("the")
