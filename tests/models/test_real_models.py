"""The default model gives llama.cpp's log-probabilities along a given text."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from llama.modelfile import ModelFile
from llama.models import Model, load_model
from tests.models.zoo_engine import whole


@pytest.fixture(scope="module")
def reference(shared: Path) -> dict[str, Any]:
    """What llama.cpp says about the default model."""
    return dict(json.loads((shared / "reference" / "greedy-dev.json").read_text())["models"]["smollm2"])


@pytest.fixture(scope="module", params=["numpy", "auto"])
def model(request: pytest.FixtureRequest, default_model: Path) -> Iterator[Model]:
    with ModelFile.open(default_model) as file:
        model = load_model(file, kernels=request.param, type_k="f32", type_v="f32")
        model.executor.allocate(24, 1)
        yield model
        model.close()


def log_probabilities(model: Model, tokens: list[int]) -> NDArray[np.float64]:
    """(T, n_vocab) after every token."""
    logits = model.forward(whole(model, tokens)).astype(np.float64)
    logits -= logits.max(axis=1, keepdims=True)
    return np.asarray(logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)))


def test_a_passage_is_as_likely(model: Model, reference: dict[str, Any]) -> None:
    passage = reference["likelihood"]
    n = 100 if model.executor.name == "numpy" else passage["n_all"]
    tokens = passage["tokens"][:n]
    found = log_probabilities(model, tokens)
    likelihood = -found[np.arange(n - 1), tokens[1:]]
    key = "nll_per_token_dequantised" if model.executor.name == "numpy" else "nll_per_token"
    assert likelihood.mean() == pytest.approx(np.mean(passage[key][: n - 1]), abs=0.01)


def test_the_best_five_are_as_likely_along_the_given_text(model: Model, reference: dict[str, Any]) -> None:
    differences = []
    cases = reference["greedy"]
    for case in cases[:2] if model.executor.name == "numpy" else cases:
        steps = case["steps"][:30]
        prompt = case["prompt_tokens"]
        found = log_probabilities(model, prompt + [step["token"] for step in steps[:-1]])[len(prompt) - 1 :]
        for row, step in zip(found, steps, strict=True):
            differences += [abs(row[token] - wanted) for token, wanted in step["top"]]
    assert np.mean(differences) < 0.1
