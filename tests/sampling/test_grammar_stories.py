"""Behind a grammar, too, a seed gives the very text that llama.cpp writes: engine, grammar, sampler and a real model.

Recorded with the llama-server of llama-cpp-python 0.3.36, an F32 cache and no flash attention (see test_stories.py).
typical_p is left out: where a grammar leaves tokens without probability, llama.cpp sorts by numbers that are none.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llama.engine import Loaded
from llama.engine.engine import Engine
from llama.engine.request import Request
from llama.grammar import TokenTrie, compile_grammar
from llama.modelfile import ModelFile
from llama.models import load_model
from llama.sampling import SamplingParams, SamplingVocab
from llama.tokenizer import load_vocab
from tests.engine.drive import ask

PROMPT = "Once upon a time"
N_PREDICT = 32
TEXTS = json.loads((Path(__file__).parent / "grammar_stories.json").read_text())


def load(path: Path) -> Loaded:
    with ModelFile.open(path) as file:
        vocab = load_vocab(file.metadata)
        model = load_model(file, kernels="numpy", type_k="f32", type_v="f32")
    pieces = [vocab.piece(id) for id in range(vocab.n_vocab)]
    sampling = SamplingVocab(model.n_vocab, vocab.eog, pieces, lambda text: vocab.encode(text, add_special=False))
    return Loaded(model, vocab, sampling)


@pytest.fixture(scope="module")
def engine(shared: Path) -> Iterator[Engine]:
    engine = Engine(lambda: load(shared / "models" / "stories260K.gguf"), n_slots=1, n_ctx=128, n_batch=32)
    try:
        assert engine.wait_until_ready(60), engine.error
        yield engine
    finally:
        engine.stop()


def params_of(changes: dict[str, Any]) -> SamplingParams:
    given: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in changes.items()}
    return SamplingParams(**given)


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: json.dumps([text["grammar"][:12], text["params"]]))
def test_a_seed_gives_the_same_text_behind_a_grammar(engine: Engine, text: dict[str, Any]) -> None:
    vocab = engine.loaded.vocab
    constraint = compile_grammar(text["grammar"]).constraint(TokenTrie(vocab.pieces, vocab.eog, {}))
    request = Request(
        prompt=tuple(vocab.encode(PROMPT)),
        sampling=params_of(text["params"]),
        n_predict=N_PREDICT,
        constraint=lambda: constraint,
    )
    assert ask(engine, request).text == text["text"]
