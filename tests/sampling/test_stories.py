"""A real model, our logits and our sampler: the very text that llama.cpp writes with the same seed.

Recorded with llama-cpp-python 0.3.36, an F32 cache and no flash attention: with its F16 cache llama.cpp's own logits
move by 0.02, which is enough to swap tokens of nearly the same probability.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from llama.modelfile import ModelFile
from llama.models import load_model
from llama.sampling import Sampler, SamplingParams, SamplingVocab
from tests.models.zoo_engine import whole

TEXTS = json.loads((Path(__file__).parent / "stories.json").read_text())


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: json.dumps(text["params"]))
def test_a_seed_gives_the_same_story(shared: Path, text: dict[str, object]) -> None:
    file = ModelFile.open(shared / "models" / "stories260K.gguf")
    model = load_model(file, kernels="numpy", n_ctx=256, type_k="f32", type_v="f32")
    model.executor.allocate(-(-256 // model.block_size), 1)
    prompt, wanted = text["prompt"], text["tokens"]
    assert isinstance(prompt, list)
    assert isinstance(wanted, list)
    vocab = SamplingVocab(model.n_vocab, frozenset({2}), [b""] * model.n_vocab, lambda _: [])
    sampler = Sampler(SamplingParams(**text["params"]), vocab, prompt)  # type: ignore[arg-type]
    tokens = list(prompt)
    for _ in wanted:
        logits = model.forward(whole(model, tokens))[-1]
        token = sampler.sample(np.ascontiguousarray(logits)).token
        sampler.accept(token)
        tokens.append(token)
    assert tokens[len(prompt) :] == wanted
