"""Fields that clients of vLLM send: which tokens may be generated, and how probable the prompt was."""

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
        wanted = {"type": "integer", "minimum": 0, "maximum": 20} if path in (TEXT, CHAT) else None
        assert schema.get("prompt_logprobs", {"anyOf": [None]})["anyOf"][0] == wanted


def scored(client: Client, path: str, **body: Any) -> Any:
    """The prompt's report: on the choice of a text, on the whole answer of a chat."""
    answer = client.ok(path, {**GREEDY, "messages": MESSAGES, **body})
    return answer["prompt_logprobs"] if path == CHAT else answer["choices"][0]["prompt_logprobs"]


@pytest.mark.parametrize("n", [0, 1, 3, 20])
def test_prompt_logprobs_are_the_models_own(model: Hosted, n: int) -> None:
    ids = [1, *tokens_of(model, PROMPT)]
    found = scored(model, TEXT, prompt_logprobs=n, max_tokens=1)
    assert len(found) == len(ids)
    assert found[0] is None
    for at in range(1, len(ids)):
        raw = native(model, prompt=ids[:at], max_tokens=1)["completion_probabilities"][0]["top_logprobs"]
        rank = [item["id"] for item in raw].index(ids[at]) + 1
        wanted = {str(item["id"]): (place, item) for place, item in enumerate(raw[:n], 1)}
        wanted[str(ids[at])] = (rank, raw[rank - 1])
        assert found[at].keys() == wanted.keys()
        for id, (place, item) in wanted.items():
            assert found[at][id].keys() == {"logprob", "rank", "decoded_token"}
            assert (found[at][id]["rank"], found[at][id]["decoded_token"]) == (place, item["token"])
            assert found[at][id]["logprob"] == pytest.approx(item["logprob"], abs=1e-3)


def test_prompt_logprobs_agree_with_the_echo(model: Hosted) -> None:
    body = {**GREEDY, "prompt_logprobs": 2, "echo": True, "logprobs": 4, "max_tokens": 0}
    choice = model.ok(TEXT, body)["choices"][0]
    ids = [1, *tokens_of(model, PROMPT)]
    assert choice["text"] == PROMPT
    assert choice["logprobs"]["token_logprobs"] == [
        None if entry is None else entry[str(id)]["logprob"]
        for entry, id in zip(choice["prompt_logprobs"], ids, strict=True)
    ]
    assert {len(entry) for entry in choice["prompt_logprobs"][1:]} <= {2, 3}
    assert {len(top) for top in choice["logprobs"]["top_logprobs"][1:]} <= {4, 5}
    assert "prompt_logprobs" not in model.ok(TEXT, {**body, "prompt_logprobs": None})["choices"][0]


def test_every_choice_of_every_prompt_has_its_own(model: Hosted) -> None:
    body = {**GREEDY, "prompt": ["Once upon", "The little girl"], "n": 2, "prompt_logprobs": 0, "max_tokens": 1}
    choices = model.ok(TEXT, body)["choices"]
    found = [choice["prompt_logprobs"] for choice in choices]
    assert found[0] == found[1]
    assert found[2] == found[3]
    for entries, prompt in ((found[0], body["prompt"][0]), (found[2], body["prompt"][1])):
        assert [list(entry) for entry in entries[1:]] == [[str(id)] for id in tokens_of(model, prompt)]
    text = "".join(next(iter(entry.values()))["decoded_token"] for entry in found[2][1:])
    assert text.strip() == "The little girl"


def test_the_prompt_of_a_chat(model: Hosted) -> None:
    found = scored(model, CHAT, prompt_logprobs=1, max_tokens=1)
    prompt = model.ok("/apply-template", {"messages": MESSAGES})["prompt"]
    ids = model.ok("/tokenize", {"content": prompt, "add_special": True})["tokens"]
    assert [id in entry for id, entry in zip(map(str, ids[1:]), found[1:], strict=True)] == [True] * (len(ids) - 1)
    again = scored(model, CHAT, prompt_logprobs=1, max_tokens=1)
    assert again == found  # whatever the cache holds by now


@pytest.mark.parametrize("bad", [-1, -2, 21, "1", True, [1]])
@pytest.mark.parametrize("path", [TEXT, CHAT])
def test_prompt_logprobs_out_of_range(model: Hosted, path: str, bad: Any) -> None:
    error = model.post(path, {**GREEDY, "messages": MESSAGES, "prompt_logprobs": bad}).error
    assert (error["code"], error["param"]) == (400, "prompt_logprobs")


@pytest.mark.parametrize("path", [TEXT, CHAT])
def test_prompt_logprobs_are_not_streamed(model: Hosted, path: str) -> None:
    error = model.post(path, {**GREEDY, "messages": MESSAGES, "prompt_logprobs": 1, "stream": True}).error
    assert (error["code"], error["param"]) == (400, "prompt_logprobs")
    assert model.post(path, {**GREEDY, "messages": MESSAGES, "prompt_logprobs": None, "stream": True}).status == 200
