"""Chat with the default model: whole and streamed, several turns, tools, schemas, limits."""

import json
import urllib.error
from typing import Any

import pytest

from tests.running import RunningServer

pytestmark = pytest.mark.real_model

PATH = "/v1/chat/completions"
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Tells the weather of a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "maxLength": 20}, "days": {"enum": [1, 3, 7]}},
            "required": ["city", "days"],
            "additionalProperties": False,
        },
    },
}


def asking(text: str, **fields: Any) -> dict[str, Any]:
    """A chat body with one question, greedy and short unless told otherwise."""
    return {"messages": [{"role": "user", "content": text}], "temperature": 0, "max_tokens": 24, **fields}


def folded(events: list[Any]) -> dict[str, Any]:
    """The message that the deltas of a stream add up to, as clients add them up."""
    message: dict[str, Any] = {"content": "", "tool_calls": []}
    for event in events[:-1]:
        for choice in event["choices"]:
            delta = choice["delta"]
            message["content"] += delta.get("content") or ""
            for part in delta.get("tool_calls", []):
                if part["index"] == len(message["tool_calls"]):
                    assert part["id"]
                    message["tool_calls"].append({"name": part["function"]["name"], "arguments": ""})
                call = message["tool_calls"][part["index"]]
                call["arguments"] += part["function"].get("arguments", "")
    return message


def test_an_answer_in_full(real_server: RunningServer) -> None:
    answer = real_server.post(PATH, asking("Name the capital of Italy.", model="mine"))
    assert answer["id"].startswith("chatcmpl-")
    assert (answer["object"], answer["model"]) == ("chat.completion", "mine")
    (choice,) = answer["choices"]
    assert choice["message"]["role"] == "assistant"
    assert "Rome" in choice["message"]["content"]
    assert (choice["index"], choice["finish_reason"], choice["logprobs"]) == (0, "stop", None)
    usage = answer["usage"]
    assert usage["prompt_tokens"] + usage["completion_tokens"] == usage["total_tokens"]
    assert 0 < usage["completion_tokens"] <= 24
    timings = answer["timings"]
    assert timings["predicted_n"] == usage["completion_tokens"]
    assert timings["prompt_n"] + timings["cache_n"] == usage["prompt_tokens"]


def test_a_stream_adds_up_to_the_whole(real_server: RunningServer) -> None:
    body = asking("Count from one to five.", max_tokens=32)
    whole = real_server.post(PATH, body)
    events = real_server.stream(PATH, {**body, "stream": True, "stream_options": {"include_usage": True}})
    assert events[-1] == "[DONE]"
    assert events[0]["choices"][0]["delta"]["role"] == "assistant"
    assert folded(events)["content"] == whole["choices"][0]["message"]["content"]
    reasons = [choice["finish_reason"] for event in events[:-1] for choice in event["choices"]]
    assert reasons == [None] * (len(reasons) - 1) + [whole["choices"][0]["finish_reason"]]
    assert {event["object"] for event in events[:-1]} == {"chat.completion.chunk"}
    assert len({event["id"] for event in events[:-1]}) == 1
    assert events[-2]["choices"] == []
    assert events[-2]["usage"]["total_tokens"] == whole["usage"]["total_tokens"]


def test_a_seed_repeats_a_draw_and_another_one_does_not(real_server: RunningServer) -> None:
    def told(seed: int) -> str:
        body = asking("Tell me a story about a fox.", temperature=1.5, seed=seed)
        return str(real_server.post(PATH, body)["choices"][0]["message"]["content"])

    assert told(7) == told(7) != told(8)


def test_a_second_turn_reads_only_what_is_new(real_server: RunningServer) -> None:
    body = asking("Please name a big river that flows through Egypt.")
    first = real_server.post(PATH, body)
    said = first["choices"][0]["message"]
    body["messages"] += [said, {"role": "user", "content": "And one in Brazil?"}]
    second = real_server.post(PATH, body)
    cached = second["usage"]["prompt_tokens_details"]["cached_tokens"]
    assert cached >= first["usage"]["prompt_tokens"]
    assert second["timings"]["prompt_n"] == second["usage"]["prompt_tokens"] - cached < 40


def test_a_required_tool_is_called_whole_and_streamed(real_server: RunningServer) -> None:
    body = asking("Will it rain in Paris?", tools=[WEATHER], tool_choice="required", max_tokens=150)
    choice = real_server.post(PATH, body)["choices"][0]
    assert (choice["finish_reason"], choice["message"]["content"]) == ("tool_calls", None)
    (call,) = choice["message"]["tool_calls"]
    assert call["type"] == "function"
    assert call["id"].startswith("call_")
    arguments = json.loads(call["function"]["arguments"])
    assert set(arguments) == {"city", "days"}
    assert arguments["days"] in (1, 3, 7)
    streamed = folded(real_server.stream(PATH, {**body, "stream": True}))
    assert streamed == {"content": "", "tool_calls": [call["function"]]}


def test_a_schema_holds(real_server: RunningServer) -> None:
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "pattern": "^[A-Z][a-z]{1,8}$"},
            "age": {"type": "integer", "maximum": 99},
        },
        "required": ["name", "age"],
        "additionalProperties": False,
    }
    for kind in ({"schema": schema}, {"json_schema": {"name": "person", "schema": schema}}):
        body = asking("Describe somebody.", response_format={"type": "json_schema", **kind}, max_tokens=60)
        person = json.loads(real_server.post(PATH, body)["choices"][0]["message"]["content"])
        assert person["name"].isalpha()
        assert person["age"] <= 99


def test_several_choices_and_a_stop_text(real_server: RunningServer) -> None:
    body = asking("Say: one two three four", n=3, temperature=1.0, stop=["e"], max_tokens=12)
    answer = real_server.post(PATH, body)
    assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2]
    assert not any("e" in choice["message"]["content"] for choice in answer["choices"])


def test_log_probabilities(real_server: RunningServer) -> None:
    answer = real_server.post(PATH, asking("Say hello.", logprobs=True, top_logprobs=3, max_tokens=5))
    content = answer["choices"][0]["logprobs"]["content"]
    assert len(content) == answer["usage"]["completion_tokens"]
    for entry in content:
        assert len(entry["top_logprobs"]) == 3
        assert entry["logprob"] <= 0
        assert entry["bytes"] == list(entry["token"].encode())
    assert content[0]["top_logprobs"][0]["token"] == content[0]["token"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        (asking("long " * 9000), "exceed_context_size_error", "context"),
        ({"model": "x"}, "invalid_request_error", "messages is required"),
        (asking("x", temperature="hot"), "invalid_request_error", "temperature"),
        (asking("x", tools=[{"type": "function", "function": {}}]), "invalid_request_error", "name"),
    ],
    ids=["too long", "no messages", "bad field", "nameless tool"],
)
def test_what_is_wrong_is_said(
    real_server: RunningServer, body: dict[str, Any], kind: str, message: str, stream: bool
) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        real_server.post(PATH, {**body, "stream": stream})
    with caught.value as answer:
        error = json.load(answer)["error"]
    assert (answer.code, error["code"], error["type"]) == (400, 400, kind)
    assert message in error["message"]
