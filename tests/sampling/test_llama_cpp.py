"""The whole chain against recordings of llama.cpp's samplers: same seed, same logits, same tokens.

`llama_cpp.json` was recorded with llama-cpp-python 0.3.36 on the vocabulary of stories260K. Each case has parameters,
and for each step the token picked, how many survived, and the likeliest survivors with their probabilities.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from llama.sampling import Sampler, SamplingParams, SamplingVocab
from tests.sampling.rows import row

RECORDED = json.loads((Path(__file__).parent / "llama_cpp.json").read_text())
CASES: list[dict[str, Any]] = RECORDED["cases"]
VOCAB = SamplingVocab(
    n_vocab=len(RECORDED["pieces"]),
    eog=frozenset(RECORDED["eog"]),
    pieces=[piece.encode("latin-1") for piece in RECORDED["pieces"]],
    encode=lambda text: RECORDED["tails"][text],
    end=RECORDED["end"],
)


def params_of(case: dict[str, Any]) -> SamplingParams:
    given = {"seed": 42, **case["params"], "post_sampling_probs": True, "n_probs": VOCAB.n_vocab}
    for key in ("samplers", "dry_sequence_breakers"):
        if key in given:
            given[key] = tuple(given[key])
    if "logit_bias" in given:
        given["logit_bias"] = tuple((id, -np.inf if bias < -1e29 else bias) for id, bias in given["logit_bias"])
    return SamplingParams(**given)


@pytest.mark.parametrize("case", CASES, ids=lambda case: json.dumps(case["params"]))
def test_same_tokens_and_survivors(case: dict[str, Any]) -> None:
    sampler = Sampler(params_of(case), VOCAB, case["prompt"])
    for i, (token, n_survivors, likeliest) in enumerate(case["steps"]):
        logits = row(i, case["scale"], VOCAB.n_vocab)
        before = logits.copy()
        sampled = sampler.sample(logits)
        assert sampled.token == token, f"step {i}"
        assert (logits == before).all()
        assert sampled.probs is not None
        assert abs(len(sampled.probs) - n_survivors) <= (0 if n_survivors < 100 else 2)
        for (id, p), (wanted_id, wanted_p) in zip(sampled.probs, likeliest, strict=False):
            assert p == pytest.approx(wanted_p, abs=3e-6)
            assert id == wanted_id or p == pytest.approx(sampled.probs[1][1], rel=1e-5)
        assert sampled.prob == pytest.approx(dict(sampled.probs)[token])
        sampler.accept(token)


def test_without_probabilities_the_tokens_are_the_same() -> None:
    for case in CASES:
        params = params_of(case)
        fast = Sampler(SamplingParams(**{**vars_of(params), "post_sampling_probs": False}), VOCAB, case["prompt"])
        for i, (token, _, _) in enumerate(case["steps"]):
            assert fast.sample(row(i, case["scale"], VOCAB.n_vocab)).token == token
            fast.accept(token)


def vars_of(params: SamplingParams) -> dict[str, Any]:
    return {name: getattr(params, name) for name in params.__dataclass_fields__}
