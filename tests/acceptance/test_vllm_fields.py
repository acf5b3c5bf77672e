"""Fields that clients of vLLM send: which tokens may be generated."""

from typing import Any

import pytest

from tests.acceptance.conftest import Host
from tests.acceptance.hosting import Client, Hosted

PROMPT = "Once upon a time, there was a little"
GREEDY = {"prompt": PROMPT, "temperature": 0, "repeat_penalty": 1, "max_tokens": 16}
TEXT, CHAT, NATIVE = "/v1/completions", "/v1/chat/completions", "/completion"
MESSAGES = [{"role": "user", "content": "Once upon a time"}]
END = 2


@pytest.fixture(scope="module")
def model(host: Host) -> Hosted:
    """The story model."""
    return host("-c", "512", "-np", "2", preset=False)


def native(client: Client, **body: Any) -> Any:
    return client.ok(NATIVE, {**GREEDY, "return_tokens": True, "n_probs": 512, **body})


def tokens_of(client: Client, text: str) -> list[int]:
    found: list[int] = client.ok("/tokenize", {"content": text})["tokens"]
    return found


def best_of(entry: Any, allowed: set[int]) -> int:
    """The likeliest of the allowed tokens by the model's own probabilities."""
    return next(int(item["id"]) for item in entry["top_logprobs"] if item["id"] in allowed)


def test_only_allowed_tokens_are_generated(model: Hosted) -> None:
    allowed = {300, 301, 268, 414}
    answer = native(model, allowed_token_ids=[*allowed, 268])
    assert len(answer["tokens"]) == 16  # the end token is not among them
    for entry, token in zip(answer["completion_probabilities"], answer["tokens"], strict=True):
        assert token == best_of(entry, allowed)
    for extra in ({"temperature": 1.5, "seed": 1}, {"mirostat": 2, "temperature": 1}, {"top_k": 1, "temperature": 1}):
        assert set(native(model, allowed_token_ids=[*allowed], **extra)["tokens"]) <= allowed


def test_probabilities_are_shared_out_among_allowed_tokens(model: Hosted) -> None:
    body = {"temperature": 1, "samplers": [], "post_sampling_probs": True, "max_tokens": 1}
    everything = {
        item["id"]: item["prob"] for item in native(model, **body)["completion_probabilities"][0]["top_probs"]
    }
    answer = native(model, **body, allowed_token_ids=[300, 268, 5])
    found = {item["id"]: item["prob"] for item in answer["completion_probabilities"][0]["top_probs"]}
    total = sum(everything[id] for id in (300, 268, 5))
    assert found == pytest.approx({id: everything[id] / total for id in (300, 268, 5)}, rel=1e-4)


def test_a_bias_does_not_bring_back_what_is_not_allowed(model: Hosted) -> None:
    answer = native(model, allowed_token_ids=[300, 301], logit_bias={"268": 1000, "301": 1000})
    assert set(answer["tokens"]) == {301}


def test_the_end_is_allowed_when_it_is_listed(model: Hosted) -> None:
    answer = native(model, allowed_token_ids=[END])
    assert (answer["content"], answer["tokens"], answer["stop_type"]) == ("", [END], "eos")


@pytest.mark.parametrize("path", [TEXT, CHAT])
def test_openai_endpoints_take_allowed_tokens(model: Hosted, path: str) -> None:
    body = {**GREEDY, "messages": MESSAGES, "allowed_token_ids": [268], "max_tokens": 3, "n": 2}
    choices = model.ok(path, body)["choices"]
    piece = model.ok("/detokenize", {"tokens": [268]})["content"]
    for choice in choices:
        assert (choice.get("text") or choice["message"]["content"]).strip() == (piece * 3).strip()
        assert choice["finish_reason"] == "length"


@pytest.mark.parametrize("bad", [[], [512], [-1], ["a"], [True], "268", {"268": 1}])
@pytest.mark.parametrize("path", [TEXT, CHAT, NATIVE])
def test_allowed_tokens_that_are_none(model: Hosted, path: str, bad: Any) -> None:
    error = model.post(path, {**GREEDY, "messages": MESSAGES, "allowed_token_ids": bad}).error
    assert (error["code"], error["param"]) == (400, "allowed_token_ids")


def test_a_bad_word_of_one_token(model: Hosted) -> None:
    free = native(model)
    word = next(t for t in free["tokens"] if model.ok("/detokenize", {"tokens": [t]})["content"].strip().isalpha())
    text = model.ok("/detokenize", {"tokens": [word]})["content"].strip()
    assert tokens_of(model, text) == [word]
    answer = native(model, bad_words=[text])
    assert word not in answer["tokens"]
    for entry, token in zip(answer["completion_probabilities"], answer["tokens"], strict=True):
        assert token == best_of(entry, set(range(512)) - {word})


def test_of_several_tokens_only_the_last_is_forbidden(model: Hosted) -> None:
    free = native(model)
    first, second = free["tokens"][:2]
    both = model.ok("/detokenize", {"tokens": [first, second]})["content"].strip()
    assert tokens_of(model, both) == [first, second]
    answer = native(model, bad_words=[both, "zebra"])
    assert answer["tokens"][0] == first  # may begin
    assert answer["tokens"][1] == best_of(answer["completion_probabilities"][1], set(range(512)) - {second})
    pairs = list(zip(answer["tokens"], answer["tokens"][1:], strict=False))
    assert (first, second) not in pairs


def test_the_prompt_does_not_begin_a_bad_word(model: Hosted) -> None:
    free = native(model)
    last, first = tokens_of(model, PROMPT)[-1], free["tokens"][0]
    word = model.ok("/detokenize", {"tokens": [last, first]})["content"].strip()
    assert tokens_of(model, word) == [last, first]
    assert native(model, bad_words=[word])["tokens"][0] == first


@pytest.mark.parametrize("path", [TEXT, CHAT])
def test_openai_endpoints_take_bad_words(model: Hosted, path: str) -> None:
    body = {**GREEDY, "messages": MESSAGES, "max_tokens": 24}

    def text(**extra: Any) -> str:
        choice = model.ok(path, {**body, **extra})["choices"][0]
        return str(choice.get("text") or choice["message"]["content"])

    banned = [word for word in text().replace(".", " ").replace(",", " ").split() if len(tokens_of(model, word)) == 1]
    assert banned
    assert not set(banned) & set(text(bad_words=banned).replace(".", " ").replace(",", " ").split())


@pytest.mark.parametrize("bad", [[""], [" "], [5], "word", {"a": 1}, [None]])
@pytest.mark.parametrize("path", [TEXT, CHAT, NATIVE])
def test_bad_words_that_are_none(model: Hosted, path: str, bad: Any) -> None:
    error = model.post(path, {**GREEDY, "messages": MESSAGES, "bad_words": bad}).error
    assert (error["code"], error["param"]) == (400, "bad_words")


def test_no_bad_words_change_nothing(model: Hosted) -> None:
    free = native(model)
    assert native(model, bad_words=[], allowed_token_ids=None)["tokens"] == free["tokens"]


def test_what_is_allowed_and_bad_at_once(model: Hosted) -> None:
    one, other = tokens_of(model, "the"), tokens_of(model, "little")
    assert (len(one), len(other)) == (1, 1)
    answer = native(model, allowed_token_ids=[*one, *other], bad_words=["the"], max_tokens=5)
    assert set(answer["tokens"]) == set(other)


def test_a_grammar_has_the_last_word(model: Hosted) -> None:
    answer = native(model, allowed_token_ids=[268], grammar='root ::= "xyz"')
    assert (answer["content"], answer["stop_type"]) == ("xyz", "eos")


def test_the_fields_are_documented(model: Hosted) -> None:
    paths = model.get("/openapi.json").json["paths"]
    for path in (TEXT, CHAT, NATIVE, "/infill"):
        schema = paths[path]["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]
        assert schema["allowed_token_ids"]["anyOf"][0]["minItems"] == 1
        assert schema["bad_words"]["anyOf"][0]["items"]["type"] == "string"
