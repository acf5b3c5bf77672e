"""Sampling parameters at the ends of their ranges and beyond: what survives, by hand, and the tokens that are drawn,
as recorded from llama-server on the same file with the same seed."""

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from tests.acceptance.conftest import Host
from tests.acceptance.hosting import Client, Hosted

N_VOCAB = 512
NEUTRAL = {
    "prompt": "Once upon a time, there was a little",
    "temperature": 1,
    "top_k": 0,
    "top_p": 1,
    "min_p": 0,
    "typical_p": 1,
    "seed": 42,
    "n_predict": 8,
    "return_tokens": True,
    "cache_prompt": False,
    "n_probs": N_VOCAB,
}
GREEDY = DRAWN = [298, 315, 421, 395, 317, 426, 338, 401]  # the first draw of seed 42 falls on the likeliest
NOT_JSON = ("NaN", "Infinity", "1e999")  # or no number that fits: refused before a field is looked at
FEW = [268, 414, 422, 395, 405, 426, 405, 401]

Probabilities = dict[int, float]


@pytest.fixture(scope="module")
def model(host: Host) -> Hosted:
    """The story model."""
    return host("-c", "512", "-np", "1", preset=False)


@pytest.fixture(scope="module")
def raw(model: Client) -> Probabilities:
    """The model's own probabilities of the token after the prompt, likeliest first."""
    entry = model.ok("/completion", {**NEUTRAL, "n_predict": 1})["completion_probabilities"][0]
    assert len(entry["top_logprobs"]) == N_VOCAB
    return {item["id"]: math.exp(item["logprob"]) for item in entry["top_logprobs"]}


def everything(raw: Probabilities) -> Probabilities:
    return raw


def best(n: int) -> Callable[[Probabilities], Probabilities]:
    """The n likeliest."""
    return lambda raw: scaled(dict(list(raw.items())[:n]))


def but_best(n: int) -> Callable[[Probabilities], Probabilities]:
    """All but the n likeliest."""
    return lambda raw: scaled(dict(list(raw.items())[n:]))


def most_typical(n: int) -> Callable[[Probabilities], Probabilities]:
    """The n whose surprise is nearest to the entropy."""

    def keep(raw: Probabilities) -> Probabilities:
        entropy = -sum(p * math.log(p) for p in raw.values())
        return scaled(dict(sorted(raw.items(), key=lambda item: abs(-math.log(item[1]) - entropy))[:n]))

    return keep


def scaled(kept: Probabilities) -> Probabilities:
    total = sum(kept.values())
    return {id: p / total for id, p in kept.items()}


@pytest.mark.parametrize(
    ("body", "survivors", "tokens"),
    [
        ({}, everything, DRAWN),
        ({"temperature": 0}, best(1), GREEDY),
        ({"temperature": -1}, best(1), GREEDY),
        ({"temperature": 0, "top_k": 5, "top_p": 0.1}, best(1), GREEDY),
        ({"temperature": 0, "top_k": 0, "top_p": 1}, best(1), GREEDY),
        ({"top_k": 0}, everything, DRAWN),
        ({"top_k": -5}, everything, DRAWN),
        ({"top_k": 100000}, everything, FEW),
        ({"top_k": 1}, best(1), GREEDY),
        ({"top_p": 0}, best(1), GREEDY),
        ({"top_p": 1}, everything, DRAWN),
        ({"top_p": 1.5}, everything, DRAWN),
        ({"min_p": -1}, everything, DRAWN),
        ({"min_p": 1}, best(1), GREEDY),
        ({"min_p": 2}, best(1), GREEDY),
        ({"typical_p": 2}, everything, DRAWN),
        ({"typical_p": 0}, most_typical(1), [268, 414, 422, 395, 326, 426, 346, 397]),
        ({"top_p": 0, "min_keep": 5}, best(5), FEW),
        ({"min_p": 1, "min_keep": 5}, best(5), FEW),
        ({"typical_p": 0, "min_keep": 5}, most_typical(5), DRAWN),
        (
            {"xtc_probability": 1, "xtc_threshold": 0.01},
            but_best(3),
            [279, 414, 305, 373, 334, 412, 428, 414],
        ),
        (
            {"xtc_probability": 1, "xtc_threshold": 0.01, "min_keep": 510},
            everything,
            [268, 414, 422, 395, 274, 266, 426, 346],
        ),
        ({"xtc_probability": 1, "xtc_threshold": 0.01, "min_keep": 512}, everything, FEW),
        ({"xtc_probability": 1, "xtc_threshold": 0.51}, everything, DRAWN),
        ({"xtc_probability": 0, "xtc_threshold": 0.01}, everything, DRAWN),
        ({"samplers": [], "temperature": 0.1, "top_k": 1}, everything, DRAWN),
        ({"samplers": ["top_k"], "temperature": 0.1, "top_k": 3}, best(3), FEW),
        ({"mirostat": -1}, everything, DRAWN),
    ],
)
def test_what_survives_and_what_is_drawn(
    model: Client,
    raw: Probabilities,
    body: dict[str, Any],
    survivors: Callable[[Probabilities], Probabilities],
    tokens: list[int],
) -> None:
    answer = model.ok("/completion", {**NEUTRAL, **body, "post_sampling_probs": True})
    found = answer["completion_probabilities"][0]
    wanted = survivors(raw)
    assert {item["id"]: item["prob"] for item in found["top_probs"]} == pytest.approx(wanted, rel=1e-4, abs=1e-7)
    assert found["prob"] == pytest.approx(wanted[answer["tokens"][0]], rel=1e-4)
    assert answer["tokens"] == tokens


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("temperature", -3, 0),
        ("top_k", -5, 0),
        ("top_p", 1.5, 1),
        ("top_p", -0.5, 0),
        ("min_p", -1, 0),
        ("min_p", 2, 1),
        ("typical_p", 2, 1),
        ("typical_p", -2, 0),
        ("xtc_probability", 3, 1),
        ("xtc_threshold", -1, 0),
        ("mirostat", 3, 2),
        ("mirostat", -1, 0),
        ("adaptive_target", 2, 1),
    ],
)
def test_values_beyond_the_ends_are_moved_to_them(model: Client, name: str, value: float, shown: float) -> None:
    answer = model.ok("/completion", {**NEUTRAL, "n_predict": 1, name: value})
    assert answer["generation_settings"][name] == shown


def test_temperature_zero_takes_the_best_after_penalties(model: Client) -> None:
    body = {**NEUTRAL, "temperature": 0, "presence_penalty": 50, "repeat_last_n": 64, "n_predict": 30}
    answer = model.ok("/completion", body)
    seen = set(model.ok("/tokenize", {"content": NEUTRAL["prompt"], "add_special": True})["tokens"])
    for entry, token in zip(answer["completion_probabilities"], answer["tokens"], strict=True):
        assert token == next(item["id"] for item in entry["top_logprobs"] if item["id"] not in seen)
        seen.add(token)
    off = model.ok("/completion", {**body, "repeat_last_n": 0})["tokens"]
    assert len(set(off)) < len(off)
    assert off == model.ok("/completion", {**body, "presence_penalty": 0})["tokens"]


def test_mirostat_three_is_two(model: Client) -> None:
    answers = [model.ok("/completion", {**NEUTRAL, "mirostat": kind, "post_sampling_probs": True}) for kind in (2, 3)]
    assert [answer["tokens"] for answer in answers] == [FEW, FEW]
    items = [answer["completion_probabilities"] for answer in answers]
    assert items[0] == items[1]
    assert len(items[0][0]["top_probs"]) == 21


@pytest.mark.parametrize("path", ["/completion", "/v1/completions", "/v1/chat/completions"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("repeat_penalty", "0"),
        ("repeat_penalty", "-1"),
        ("repeat_penalty", "NaN"),
        ("repeat_penalty", "Infinity"),
        ("repeat_penalty", "1e999"),
        ("repeat_last_n", "-1"),
        ("dry_penalty_last_n", "-1"),
        ("min_keep", "-1"),
        ("temperature", "NaN"),
        ("dry_sequence_breakers", "[]"),
        ("adaptive_decay", "1"),
        ("samplers", '["top_q"]'),
    ],
)
def test_what_has_no_meaning_is_refused(model: Client, path: str, name: str, value: str) -> None:
    start = {"prompt": "a", "messages": [{"role": "user", "content": "a"}], "max_tokens": 1}
    raw = json.dumps(start)[:-1].encode() + f', "{name}": {value}}}'.encode()
    error = model.ask("POST", path, raw=raw).error
    assert (error["code"], error["type"]) == (400, "invalid_request_error")
    assert error["param"] == (None if value in NOT_JSON else name)


@pytest.mark.parametrize("path", ["/completion", "/v1/completions"])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("rule", ["[]", r"[^\x00-\U0010FFFF]", '"a" []', '"a" root'])
def test_a_grammar_that_allows_nothing_is_refused_at_once(model: Client, path: str, stream: bool, rule: str) -> None:
    body = {"prompt": "a", "grammar": f"root ::= {rule}", "max_tokens": 4, "stream": stream}
    error = model.post(path, body).error
    assert (error["code"], error["param"]) == (400, "grammar")


@pytest.mark.parametrize("extra", [{}, {"ignore_eos": True}, {"min_tokens": 8}, {"temperature": 0}])
def test_when_a_grammar_is_complete_only_the_end_is_legal(model: Client, extra: dict[str, Any]) -> None:
    body = {**NEUTRAL, "grammar": 'root ::= "xyz"', "n_predict": 20, **extra}
    answer = model.ok("/completion", body)
    assert (answer["content"], answer["stop_type"]) == ("xyz", "eos")
    assert answer["tokens"][-1] == 2


@pytest.mark.parametrize("path", ["/completion", "/v1/completions"])
@pytest.mark.parametrize(
    "extra",
    [
        {"speculative.n_max": 16, "speculative.n_min": 2, "speculative.p_min": 0.5, "speculative.type": "ngram-simple"},
        {"n_cache_reuse": 8},
        {"backend_sampling": True},
    ],
)
def test_fields_that_change_nothing(model: Client, path: str, extra: dict[str, Any]) -> None:
    body = {**NEUTRAL, "n_probs": None, "verbose": True, "max_tokens": 8}

    def told(**more: Any) -> tuple[Any, Any]:
        answer = model.ok(path, {**body, **more})
        return answer.get("tokens"), answer.get("content") or answer["choices"][0]["text"]

    assert told(**extra) == told()
    assert told()[0] in (None, DRAWN)
    name, value = next(iter(extra.items()))
    bad = "x" if not isinstance(value, bool) else 1
    assert model.post(path, {**body, name: bad}).error["param"] == name
