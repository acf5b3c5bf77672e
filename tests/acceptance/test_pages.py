"""The two pages that describe the endpoints: every parameter, example and shape, whole and streamed."""

import json
import math
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.acceptance.conftest import Host
from tests.acceptance.hosting import Client

TEXT, CHAT = "/v1/completions", "/v1/chat/completions"
HI = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]
COUNTS = {"prompt_tokens", "completion_tokens", "total_tokens"}
TIMES = {"prompt_n", "prompt_ms", "prompt_per_token_ms", "prompt_per_second", "predicted_n", "predicted_ms"}
TIMES |= {"predicted_per_token_ms", "predicted_per_second", "cache_n"}


def requests_of(page: str) -> list[dict[str, Any]]:
    """Every request body that a page shows."""
    found = [json.loads(text.replace("'\\''", "'")) for text in re.findall(r"-d '(\{.*?\n\s*\})'", page, re.DOTALL)]
    for text in re.findall(r"```json theme=\{null\}\n(.*?)```", page, re.DOTALL):
        body = json.loads(text)
        if "prompt" in body or "messages" in body:
            found.append(body)
    return found


@pytest.mark.parametrize(("page", "path"), [("completions", TEXT), ("chat-completions", CHAT)])
@pytest.mark.parametrize("stream", [False, True])
def test_every_example_of_the_pages(host: Host, shared: Path, page: str, path: str, stream: bool) -> None:
    server = host("-c", "4096", "-np", "2", "--kv-unified")
    bodies = requests_of((shared / "seeds" / f"{page}.txt").read_text())
    assert len(bodies) >= 6
    for body in bodies:
        reply = server.post(path, {**body, "stream": stream, "max_tokens": 12}, Authorization="Bearer no-key")
        if "suffix" in body:  # this model has no tokens for it
            assert (reply.status, reply.error["param"]) == (400, "suffix")
        elif "image_url" in json.dumps(body):
            assert reply.status == 400
            assert "image" in reply.error["message"]
        elif stream:
            assert reply.events[-1] == "[DONE]"
        else:
            n = body.get("n", 1) * (len(body["prompt"]) if isinstance(body.get("prompt"), list) else 1)
            assert [choice["index"] for choice in reply.json["choices"]] == list(range(n))
            assert reply.json["model"] == body["model"]


def test_the_shape_of_a_text_answer(server: Client) -> None:
    answer = server.ok(TEXT, {"model": "m", "prompt": "Once upon a time", "max_tokens": 6})
    assert answer["id"].startswith("cmpl-")
    assert (answer["object"], answer["model"]) == ("text_completion", "m")
    assert isinstance(answer["created"], int)
    assert answer["choices"][0].keys() >= {"text", "index", "logprobs", "finish_reason"}
    assert answer["choices"][0]["logprobs"] is None
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["usage"].keys() >= COUNTS
    assert answer["usage"]["completion_tokens"] == 6
    assert answer["usage"]["total_tokens"] == 6 + answer["usage"]["prompt_tokens"]


def test_the_shape_of_a_text_stream(server: Client) -> None:
    body = {"model": "m", "prompt": "Once upon a time", "max_tokens": 6}
    *chunks, done = server.stream(TEXT, body)
    assert done == "[DONE]"
    assert {chunk["object"] for chunk in chunks} == {"text_completion"}
    assert len({(chunk["id"], chunk["created"], chunk["model"]) for chunk in chunks}) == 1
    assert all(chunk["choices"][0].keys() >= {"text", "index", "logprobs", "finish_reason"} for chunk in chunks)
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None] * (len(chunks) - 1) + ["length"]
    assert chunks[-1]["choices"][0]["text"] == ""
    text = "".join(chunk["choices"][0]["text"] for chunk in chunks)
    assert text == server.ok(TEXT, body)["choices"][0]["text"]


def test_the_shape_of_a_chat_answer(server: Client) -> None:
    answer = server.ok(CHAT, {"model": "m", "messages": HI, "max_tokens": 6})
    assert answer["id"].startswith("chatcmpl-")
    assert (answer["object"], answer["model"]) == ("chat.completion", "m")
    choice = answer["choices"][0]
    assert (choice["index"], choice["finish_reason"], choice["logprobs"]) == (0, "length", None)
    assert choice["message"]["role"] == "assistant"
    assert isinstance(choice["message"]["content"], str)
    assert answer["usage"].keys() >= COUNTS
    assert answer["timings"].keys() >= TIMES
    times = answer["timings"]
    assert times["prompt_n"] + times["cache_n"] == answer["usage"]["prompt_tokens"]
    assert times["predicted_n"] == answer["usage"]["completion_tokens"] == 6
    assert all(math.isfinite(value) for value in times.values())


def test_the_shape_of_a_chat_stream(server: Client) -> None:
    body = {"messages": HI, "max_tokens": 6}
    *chunks, done = server.stream(CHAT, body)
    assert done == "[DONE]"
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert len({(chunk["id"], chunk["created"], chunk["model"]) for chunk in chunks}) == 1
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": None}
    assert chunks[-1]["choices"][0]["delta"] == {}
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None] * (len(chunks) - 1) + ["length"]
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks[1:-1]]
    assert all(delta.keys() == {"content"} and delta["content"] for delta in deltas)
    whole = server.ok(CHAT, body)["choices"][0]["message"]["content"]
    assert "".join(delta["content"] for delta in deltas) == whole
    assert not any(chunk.get("usage") for chunk in chunks)


def test_usage_of_a_stream_when_asked(server: Client) -> None:
    for path, body in ((TEXT, {"prompt": "a"}), (CHAT, {"messages": HI})):
        asked = {**body, "max_tokens": 3, "stream_options": {"include_usage": True}}
        last = server.stream(path, asked)[-2]
        assert last["choices"] == []
        assert last["usage"]["completion_tokens"] == 3
        assert last["timings"]["predicted_n"] == 3


def test_log_probabilities_of_text(server: Client) -> None:
    body = {"prompt": "The sky is", "max_tokens": 5, "logprobs": 3}
    choice = server.ok(TEXT, body)["choices"][0]
    found = choice["logprobs"]
    assert found.keys() == {"tokens", "token_logprobs", "top_logprobs", "text_offset"}
    assert "".join(found["tokens"]) == choice["text"]
    assert found["text_offset"] == [len("".join(found["tokens"][:i])) for i in range(5)]
    for token, value, tops in zip(found["tokens"], found["token_logprobs"], found["top_logprobs"], strict=True):
        assert value <= 0
        assert tops[token] == value
        assert len(tops) in (3, 4)
    streamed = [chunk["choices"][0]["logprobs"] for chunk in server.stream(TEXT, body)[:-1]]
    for key in found:
        assert [entry for item in streamed if item for entry in item[key]] == found[key]


def test_echo_scores_the_prompt(server: Client) -> None:
    body = {"prompt": "Once upon a time", "echo": True, "max_tokens": 0, "logprobs": 1}
    answer = server.ok(TEXT, body)
    choice = answer["choices"][0]
    assert choice["text"] == "Once upon a time"
    assert choice["finish_reason"] == "length"
    assert choice["logprobs"]["token_logprobs"][0] is None
    assert all(value <= 0 for value in choice["logprobs"]["token_logprobs"][1:])
    assert len(choice["logprobs"]["tokens"]) == answer["usage"]["prompt_tokens"]
    streamed = server.stream(TEXT, {**body, "max_tokens": 3})[:-1]
    whole = server.ok(TEXT, {**body, "max_tokens": 3})["choices"][0]
    assert "".join(chunk["choices"][0]["text"] for chunk in streamed) == whole["text"]
    assert whole["text"].startswith("Once upon a time")


def test_echo_with_many_prompts_and_choices(server: Client) -> None:
    answer = server.ok(TEXT, {"prompt": ["One", "Two"], "n": 2, "echo": True, "max_tokens": 2})
    assert [choice["text"][:3] for choice in answer["choices"]] == ["One", "One", "Two", "Two"]
    assert answer["usage"]["completion_tokens"] == 8


def test_choices_of_one_prompt(server: Client) -> None:
    body = {"prompt": "Once", "n": 3, "temperature": 1.2, "max_tokens": 12, "seed": 5}
    first, second = server.ok(TEXT, body), server.ok(TEXT, body)
    texts = [choice["text"] for choice in first["choices"]]
    assert texts == [choice["text"] for choice in second["choices"]]
    assert len(set(texts)) > 1
    alone = server.ok(TEXT, {**body, "n": 1, "seed": 7})["choices"][0]["text"]
    assert alone == texts[2]  # choice i is drawn with seed + i
    chunks = server.stream(TEXT, body)[:-1]
    for number in range(3):
        mine = [chunk["choices"][0] for chunk in chunks if chunk["choices"][0]["index"] == number]
        assert "".join(choice["text"] for choice in mine) == texts[number]
        assert [choice["finish_reason"] for choice in mine][-1] == "length"


@pytest.mark.parametrize("path", [TEXT, CHAT])
@pytest.mark.parametrize("stop", [["e"], "e", ["zzz", "e", None], ["", "e"]])
def test_stop(server: Client, path: str, stop: Any) -> None:
    body = {"prompt": "Once upon", "messages": HI, "stop": stop, "max_tokens": 40}
    reply = server.post(path, body)
    if isinstance(stop, list) and None in stop and reply.status == 400:
        assert reply.error["param"] == "stop"
        return
    choice = reply.json["choices"][0]
    text = choice.get("text", choice.get("message", {}).get("content"))
    assert "e" not in text
    assert choice["finish_reason"] == "stop"
    chunks = [chunk["choices"][0] for chunk in server.stream(path, body)[:-1]]
    assert "".join(chunk.get("text") or chunk.get("delta", {}).get("content") or "" for chunk in chunks) == text


VALID = {
    "temperature": [0, 0.7, 2, 5, -1],
    "top_p": [0, 0.5, 1, 1.5],
    "top_k": [0, 1, 40, -3, 10**6],
    "min_p": [0, 0.05, 1, -1],
    "presence_penalty": [-2, 0, 2],
    "frequency_penalty": [-2, 0, 2],
    "repeat_penalty": [0.5, 1, 1.1],
    "seed": [-1, 0, 42, 2**32 - 1, -2],
    "max_tokens": [0, 1, 4],
    "mirostat": [0, 1, 2, 3, -1],
    "mirostat_tau": [0.1, 5],
    "mirostat_eta": [0, 0.1],
    "cache_prompt": [True, False],
    "logit_bias": [{"300": -100}, [[300, False]], {"a": 1.5}, [["hello", -1]], [], {}],
    "typical_p": [0.5, 2],
    "xtc_probability": [0.5],
    "dry_multiplier": [0.8],
    "dynatemp_range": [0.5],
    "top_n_sigma": [1.0, -1],
    "repeat_last_n": [0, 64, 10000],
    "min_keep": [0, 5],
    "samplers": [[], ["temperature"], "kt", ["top-k", "nucleus", "temp"]],
    "ignore_eos": [True],
    "n_probs": [0, 3],
    "user": ["me"],
    "model": ["", "x"],
    "sse_ping_interval": [-1, 5],
    "timings_per_token": [True],
    "return_progress": [True],
    "adaptive_target": [0.5],
    "stream_options": [{"include_usage": True}, {}],
}


@pytest.mark.parametrize("path", [TEXT, CHAT, "/completion"])
@pytest.mark.parametrize("name", VALID)
def test_every_parameter_takes_its_values_and_null(server: Client, path: str, name: str) -> None:
    for value in [*VALID[name], None]:
        body = {"prompt": "Once", "messages": HI, "max_tokens": 2, name: value}
        if path == TEXT and name == "n_probs":
            continue
        answer = server.ok(path, body)
        assert answer["content"] if path == "/completion" and name != "max_tokens" else answer is not None


@pytest.mark.parametrize("path", [TEXT, CHAT, "/completion"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", "hot"),
        ("top_k", "40"),
        ("top_p", []),
        ("stream", "yes"),
        ("stop", [1]),
        ("stop", {}),
        ("n", 0),
        ("n", -1),
        ("n", 100000),
        ("max_tokens", -2),
        ("max_tokens", "5"),
        ("repeat_penalty", 0),
        ("repeat_penalty", -1),
        ("repeat_last_n", -1),
        ("dry_sequence_breakers", []),
        ("dry_sequence_breakers", "x"),
        ("dry_penalty_last_n", -1),
        ("min_keep", -1),
        ("seed", "x"),
        ("cache_prompt", 1),
        ("grammar", 5),
        ("grammar", "root ::= ("),
        ("grammar", "x ::= 'a'"),
        ("json_schema", {"type": "sound"}),
        ("logit_bias", 5),
        ("samplers", [1]),
        ("mirostat", "2"),
        ("id_slot", "a"),
        ("stream_options", 3),
        ("sse_ping_interval", -2),
        ("t_max_predict_ms", -2),
        ("n_keep", -2),
        ("adaptive_decay", 1.0),
    ],
)
def test_wrong_values_are_400_and_name_the_field(server: Client, path: str, name: str, value: Any) -> None:
    for stream in (False, True):
        reply = server.post(path, {"prompt": "a", "messages": HI, "max_tokens": 1, "stream": stream, name: value})
        assert (reply.status, reply.error["type"]) == (400, "invalid_request_error"), reply.raw
        assert name in reply.error["message"] or reply.error["param"] == name
        assert reply.headers["Content-Type"].startswith("application/json")


@pytest.mark.parametrize(("value", "status"), [(0, 200), (5, 200), (6, 400), (-1, 400)])
def test_the_range_of_logprobs(server: Client, value: int, status: int) -> None:
    assert server.post(TEXT, {"prompt": "a", "max_tokens": 1, "logprobs": value}).status == status
    body = {"messages": HI, "max_tokens": 1, "logprobs": True, "top_logprobs": 20 if value == 5 else value}
    assert server.post(CHAT, {**body, "top_logprobs": 21 if value == 6 else body["top_logprobs"]}).status == status


SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 8},
        "price": {"type": "integer", "minimum": 0, "maximum": 99},
    },
    "required": ["name", "price"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("path", "extra"),
    [
        (TEXT, {"json_schema": SCHEMA}),
        ("/completion", {"json_schema": SCHEMA}),
        (CHAT, {"json_schema": SCHEMA}),
        (CHAT, {"response_format": {"type": "json_schema", "schema": SCHEMA}}),
        (CHAT, {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}}),
        (CHAT, {"response_format": {"type": "json_schema", "json_schema": SCHEMA}}),
        (CHAT, {"response_format": {"type": "json_object", "schema": SCHEMA}}),
        (TEXT, {"response_format": {"type": "json_schema", "schema": SCHEMA}}),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_schema_in_every_place(server: Client, path: str, extra: dict[str, Any], stream: bool) -> None:
    body = {"prompt": "a", "messages": HI, "max_tokens": 120, **extra}
    if stream:
        chunks = [event for event in server.stream(path, body) if event != "[DONE]"]
        choices = [chunk if path == "/completion" else chunk["choices"][0] for chunk in chunks]
        text = "".join(c.get("text") or c.get("content") or c.get("delta", {}).get("content") or "" for c in choices)
    else:
        answer = server.ok(path, body)
        choice = answer if path == "/completion" else answer["choices"][0]
        text = choice.get("text") or choice.get("content") or choice["message"]["content"]
    jsonschema.validate(json.loads(text), SCHEMA)


def test_required_and_named_tool_choice(host: Host) -> None:
    """The model is far too small to want it: the grammar makes it."""
    hosted = host("-c", "4096", "-np", "1", "-n", "400")
    tools = [
        {"type": "function", "function": {"name": name, "parameters": SCHEMA, "description": "x"}}
        for name in ("f", "g")
    ]
    ask = {"messages": HI, "tools": tools, "max_tokens": 300}
    named = hosted.ok(CHAT, {**ask, "tool_choice": {"type": "function", "function": {"name": "g"}}})["choices"][0]
    message = named["message"]
    assert message["content"] is None
    assert [call["function"]["name"] for call in message["tool_calls"]] == ["g"] * len(message["tool_calls"])
    assert all(call["id"].startswith("call_") and call["type"] == "function" for call in message["tool_calls"])
    jsonschema.validate(json.loads(message["tool_calls"][0]["function"]["arguments"]), SCHEMA)
    assert named["finish_reason"] in ("tool_calls", "length")
    chunks = hosted.stream(CHAT, {**ask, "tool_choice": "required", "parallel_tool_calls": False})[:-1]
    calls = [c for chunk in chunks for c in chunk["choices"][0]["delta"].get("tool_calls", ())]
    assert calls[0].keys() == {"index", "id", "type", "function"}
    assert calls[0]["function"]["name"] in ("f", "g")
    assert all(call.keys() == {"index", "function"} and call["index"] == 0 for call in calls[1:])
    jsonschema.validate(json.loads("".join(call["function"]["arguments"] for call in calls)), SCHEMA)
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"
    assert hosted.ok(CHAT, {**ask, "tool_choice": "none", "max_tokens": 4})["choices"][0]["message"]["content"]
    for wrong in ("sometimes", {"type": "function", "function": {"name": "h"}}, 5):
        assert hosted.post(CHAT, {**ask, "tool_choice": wrong}).status == 400


@pytest.mark.parametrize("value", ["none", "auto", "deepseek", "deepseek-legacy", "x", 5])
def test_reasoning_format(server: Client, value: Any) -> None:
    reply = server.post(CHAT, {"messages": HI, "max_tokens": 2, "reasoning_format": value})
    assert reply.status == (200 if value in ("none", "auto", "deepseek", "deepseek-legacy") else 400)


def test_a_thought_that_is_forced_open(server: Client) -> None:
    message = server.ok(CHAT, {"messages": HI, "max_tokens": 4, "thinking_forced_open": True})["choices"][0]["message"]
    assert message["reasoning_content"]
    assert not message["content"]


def test_the_errors_of_the_pages(server: Client) -> None:
    for path, message in ((TEXT, "prompt is required"), (CHAT, "Invalid request: messages is required")):
        error = server.post(path, {"model": "m"}).error
        assert (error["message"], error["type"], error["code"]) == (message, "invalid_request_error", 400)


def test_the_default_repeat_penalty(server: Client) -> None:
    """1.1 on the two pages, 1.0 on the native endpoint, as each documents."""
    body = {"prompt": "a a a a a a a", "messages": HI, "max_tokens": 1, "verbose": True}
    settings = [server.ok(path, body)["__verbose"]["generation_settings"] for path in (TEXT, CHAT)]
    assert [found["repeat_penalty"] for found in settings] == [1.1, 1.1]
    assert server.ok("/completion", {"prompt": "a", "n_predict": 1})["generation_settings"]["repeat_penalty"] == 1.0


@pytest.mark.parametrize("path", [TEXT, CHAT, "/completion"])
def test_the_defaults_of_the_pages(host: Host, path: str) -> None:
    hosted = host("-n", "4", preset=False)
    body = {"prompt": "a", "messages": HI, "verbose": True}
    answer = hosted.ok(path, body)
    found = (answer.get("__verbose") or answer)["generation_settings"]
    wanted = {"temperature": 0.8, "top_p": 0.95, "top_k": 40, "min_p": 0.05, "presence_penalty": 0.0}
    wanted |= {"frequency_penalty": 0.0, "mirostat": 0, "mirostat_tau": 5.0, "mirostat_eta": 0.1, "seed": 4294967295}
    assert {name: found[name] for name in wanted} == wanted
