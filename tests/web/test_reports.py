"""Complaints of users of other servers, which must not come true here. Those not here are held elsewhere by name."""

import json
import math
from typing import Any

import pytest
from openai.types import Completion, CompletionChoice
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from tests.fakes import ByteVocab, HashModel, ScriptedModel
from tests.web.conftest import MakeClient
from tests.web.wire import events

HI = [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    ("tokens", "stop", "text"),
    [
        (["The", " quick", " br", "own", " fox", " jumps"], ["\nUser:", "own fox"], "The quick br"),  # B041
        (["alpha ", "beta", " gam", "ma delta"], ["beta gamma"], "alpha "),  # B043
        (["a", "bc", "d"], ["cd", "b"], "a"),  # the earliest match wins
        (["ab", "ab", "ac"], ["abac"], "ab"),  # a match that begins anew inside a failed one
    ],
)
@pytest.mark.parametrize("path", ["/v1/completions", "/v1/chat/completions"])
def test_stop_texts_are_found_across_tokens(
    make_client: MakeClient, tokens: list[str], stop: list[str], text: str, path: str
) -> None:
    client = make_client(tokens)
    body = {"prompt": "x", "messages": HI, "stop": stop}
    whole = client.post(path, json=body).get_json()["choices"][0]
    chunks = [c["choices"][0] for c in events(client.post(path, json={**body, "stream": True}))[:-1]]
    streamed = "".join(c.get("text") or c.get("delta", {}).get("content") or "" for c in chunks)
    assert (whole.get("text") or whole["message"]["content"]) == streamed == text
    assert whole["finish_reason"] == chunks[-1]["finish_reason"] == "stop"


def test_the_text_before_a_possible_stop_is_not_held_back(make_client: MakeClient) -> None:
    client = make_client(["one ", "two", " stop"])
    chunks = events(client.post("/v1/completions", json={"prompt": "x", "stop": ["o stop"], "stream": True}))[:-1]
    assert [chunk["choices"][0]["text"] for chunk in chunks] == ["one ", "tw", ""]


def test_every_event_is_one_line_and_a_blank_one(make_client: MakeClient) -> None:
    """B050: proxies and parsers fall over anything else."""
    response = make_client("a\nb\r\u2028c<|end|>").post("/v1/chat/completions", json={"messages": HI, "stream": True})
    assert response.headers["X-Accel-Buffering"] == "no"
    assert response.headers["Cache-Control"] == "no-cache"
    raw = response.get_data()
    assert raw.endswith(b"data: [DONE]\n\n")
    for frame in raw.split(b"\n\n")[:-1]:
        assert frame.startswith(b"data: ")
        assert b"\n" not in frame
        assert b"\r" not in frame


def test_answers_pass_the_types_of_the_openai_package(make_client: MakeClient) -> None:
    """B051, B153."""
    client = make_client("Hello<|end|>")
    ask = {"messages": HI, "logprobs": True, "top_logprobs": 2, "max_tokens": 3}
    whole = client.post("/v1/chat/completions", json=ask).get_json()
    ChatCompletion.model_validate(whole, strict=True)
    for chunk in events(client.post("/v1/chat/completions", json={**ask, "stream": True}))[:-1]:
        ChatCompletionChunk.model_validate(chunk, strict=True)
    text = client.post("/v1/completions", json={"prompt": "x", "logprobs": 2, "max_tokens": 3}).get_json()
    Completion.model_validate(text, strict=True)
    assert CompletionChoice.model_validate(text["choices"][0], strict=True).logprobs is not None


def test_the_empty_prompt_with_and_without_a_first_token(make_client: MakeClient) -> None:
    """B123."""
    with_bos = make_client(ScriptedModel("hi<|end|>", vocab=ByteVocab(add_bos=True)))
    answer = with_bos.post("/v1/completions", json={"prompt": "", "max_tokens": 4}).get_json()
    assert answer["usage"]["prompt_tokens"] == 1
    assert answer["choices"][0]["text"] == "hi"
    response = make_client().post("/v1/completions", json={"prompt": "", "max_tokens": 4})
    assert response.status_code == 400


@pytest.mark.parametrize(("prompt", "count"), [("<s>Hi", 3), ("Hi", 3), ([256, 72, 105], 3), ([72, 105], 2)])
def test_the_first_token_is_never_doubled(make_client: MakeClient, prompt: Any, count: int) -> None:
    """B129: ids are taken as they are."""
    client = make_client(ScriptedModel("x<|end|>", vocab=ByteVocab(add_bos=True)))
    answer = client.post("/v1/completions", json={"prompt": prompt, "max_tokens": 1}).get_json()
    assert answer["usage"]["prompt_tokens"] == count


def test_echo_does_not_show_a_first_token_that_was_not_sent(make_client: MakeClient) -> None:
    client = make_client(ScriptedModel("x<|end|>", vocab=ByteVocab(add_bos=True)))
    body = {"prompt": "Hi", "echo": True, "logprobs": 1, "max_tokens": 0}
    choice = client.post("/v1/completions", json=body).get_json()["choices"][0]
    assert choice["text"] == "Hi"
    assert choice["logprobs"]["tokens"] == ["", "H", "i"]
    assert choice["logprobs"]["text_offset"] == [0, 0, 1]


def test_no_limit_unless_asked(make_client: MakeClient) -> None:
    """B127: sixteen tokens surprise people."""
    text = "Once upon a time there was a fox that lived in a small village."
    assert (
        make_client(text + "<|end|>").post("/v1/completions", json={"prompt": "x"}).get_json()["choices"][0]["text"]
        == text
    )


def test_logprobs_are_always_json(make_client: MakeClient) -> None:
    client = make_client(ScriptedModel("ab<|end|>", lead=1e6))
    body = {"prompt": "xy", "logprobs": 5, "echo": True, "max_tokens": 2, "logit_bias": [["a", False]]}
    found = json.loads(client.post("/v1/completions", json=body).get_data())["choices"][0]["logprobs"]
    assert all(math.isfinite(value) for value in found["token_logprobs"][1:])


def test_the_same_text_alone_and_beside_others(make_client: MakeClient) -> None:
    client = make_client(HashModel())
    body = {"prompt": "x", "max_tokens": 20, "seed": 3}
    alone = client.post("/v1/completions", json=body).get_json()["choices"][0]["text"]
    beside = client.post("/v1/completions", json={**body, "prompt": ["y", "x", "z"]}).get_json()["choices"][1]["text"]
    assert beside == alone
