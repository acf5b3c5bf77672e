"""Every case recorded from llama.cpp, both ways."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from llama.tokenizer import Vocab
from tests.conftest import SHARED
from tests.tokenizer.vocabs import vocab_of

NAMES = sorted(path.name[len("ggml-vocab-") : -len(".gguf")] for path in (SHARED / "vocab").glob("ggml-vocab-*.gguf"))
RANDOM = json.loads(Path(__file__).with_name("random_ids.json").read_text())


def raw(text: str | dict[str, str]) -> bytes:
    return bytes.fromhex(text["hex"]) if isinstance(text, dict) else text.encode()


def check(vocab: Vocab, cases: dict[str, Any]) -> None:
    for case in cases["cases"]:
        ids = vocab.encode(case["text"], add_special=case["add_special"], parse_special=case["parse_special"])
        assert ids == case["ids"], case
    for case in cases["detokenize"]:
        assert vocab.join(case["ids"]) == raw(case["text"]), case
        assert vocab.clean(case["ids"]) == raw(case["clean"]), case
    for id, text in cases["pieces"]:
        assert vocab.piece(id) == raw(text), id


@pytest.mark.parametrize("name", NAMES)
def test_vocabulary_files(shared: Path, name: str) -> None:
    check(
        vocab_of(shared / "vocab" / f"ggml-vocab-{name}.gguf"), json.loads((shared / f"vocab/{name}.json").read_text())
    )


@pytest.mark.parametrize("name", RANDOM)
def test_random_texts(shared: Path, name: str) -> None:
    vocab = vocab_of(shared / "vocab" / f"ggml-vocab-{name}.gguf")
    for text, add_special, parse_special, ids in RANDOM[name]:
        assert vocab.encode(text, add_special=add_special, parse_special=parse_special) == ids, text


def test_default_model(shared: Path, default_model: Path) -> None:
    check(vocab_of(default_model), json.loads((shared / "vocab/SmolLM2-135M-Instruct.Q4_1.json").read_text()))


def test_gemma(shared: Path) -> None:
    path = os.environ.get("LLAMA_TEST_GEMMA")
    if not path:
        pytest.skip("LLAMA_TEST_GEMMA does not name the gemma-3-270m file")
    check(vocab_of(Path(path)), json.loads((shared / "vocab/gemma-3-270m-q4_k_m.json").read_text()))
