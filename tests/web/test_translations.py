"""Anthropic's messages and OpenAI's responses: translations of the chat core, streams and tools included."""

import json
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.web.conftest import MakeClient
from tests.web.test_chat import HERMES, THINKER, THINKING, TWO_CALLS, WEATHER

HI = [{"role": "user", "content": "hi"}]
ANTHROPIC_TOOL = {"name": "get_weather", "input_schema": WEATHER["function"]["parameters"]}  # type: ignore[index]
FLAT_TOOL = {"type": "function", **WEATHER["function"]}  # type: ignore[dict-item]


def named_events(response: TestResponse) -> list[Any]:
    """The events of a stream whose frames have names; the name is the type of the data."""
    assert response.status_code == 200, response.get_data(as_text=True)
    found = []
    for frame in response.get_data(as_text=True).split("\n\n")[:-1]:
        if frame == ":":
            continue
        name, data = frame.split("\n")
        value = json.loads(data.removeprefix("data: "))
        assert name == f"event: {value['type']}"
        found.append(value)
    return found


def message(client: FlaskClient, **body: Any) -> Any:
    response = client.post("/v1/messages", json={"messages": HI, "max_tokens": 300, **body})
    assert response.status_code == 200, response.get_data(as_text=True)
    return response.get_json()


def message_stream(client: FlaskClient, **body: Any) -> list[Any]:
    return named_events(client.post("/v1/messages", json={"messages": HI, "max_tokens": 300, "stream": True, **body}))


def folded(stream: list[Any]) -> list[dict[str, Any]]:
    """The blocks that a stream adds up to; checks that one block is open at a time."""
    blocks: list[dict[str, Any]] = []
    is_open = False
    for item in stream:
        if item["type"] == "content_block_start":
            assert not is_open
            assert item["index"] == len(blocks)
            blocks.append({**item["content_block"], "json": ""})
            is_open = True
        elif item["type"] == "content_block_delta":
            assert is_open
            assert item["index"] == len(blocks) - 1
            for key, value in item["delta"].items():
                if key != "type":
                    place = "json" if key == "partial_json" else key
                    blocks[-1][place] += value
        elif item["type"] == "content_block_stop":
            is_open = False
    assert not is_open
    for block in blocks:
        text = block.pop("json")
        if block["type"] == "tool_use":
            block["input"] = json.loads(text or "{}")
    return blocks


@pytest.mark.parametrize(
    ("script", "template", "body"),
    [
        ("Hello!<|end|>", HERMES, {}),
        (TWO_CALLS, HERMES, {"tools": [ANTHROPIC_TOOL]}),
        (THINKING, THINKER, {}),
        ("Let me see.\n" + TWO_CALLS, HERMES, {"tools": [ANTHROPIC_TOOL], "tool_choice": {"type": "auto"}}),
    ],
)
def test_messages_stream_what_the_whole_says(
    make_client: MakeClient, script: str, template: str, body: dict[str, Any]
) -> None:
    client = make_client(script, template=template)
    whole = message(client, **body)
    stream = message_stream(client, **body)
    assert [item["type"] for item in stream[:1] + stream[-2:]] == ["message_start", "message_delta", "message_stop"]
    blocks, expected = folded(stream), whole["content"]
    for block in (*blocks, *expected):
        if block["type"] == "tool_use":
            assert block.pop("id").startswith("call_")
    assert blocks == expected
    assert stream[-2]["delta"]["stop_reason"] == whole["stop_reason"]
    assert stream[-2]["usage"]["output_tokens"] == whole["usage"]["output_tokens"]


def test_the_whole_message(make_client: MakeClient) -> None:
    client = make_client("Hello!<|end|>")
    answer = message(client, model="claude", system="Be brief.")
    assert (answer["type"], answer["role"], answer["model"]) == ("message", "assistant", "claude")
    assert answer["content"] == [{"type": "text", "text": "Hello!"}]
    assert (answer["stop_reason"], answer["stop_sequence"]) == ("end_turn", None)
    again = message(client, system="Be brief.")["usage"]
    assert again["input_tokens"] + again["cache_read_input_tokens"] == answer["usage"]["input_tokens"]


def test_why_a_message_ends(make_client: MakeClient) -> None:
    client = make_client("Hello!<|end|>")
    assert message(client, max_tokens=2)["stop_reason"] == "max_tokens"
    stopped = message(client, stop_sequences=["lo"])
    assert (stopped["stop_reason"], stopped["stop_sequence"]) == ("stop_sequence", "lo")
    tool = message(make_client(TWO_CALLS, template=HERMES), tools=[ANTHROPIC_TOOL])
    assert tool["stop_reason"] == "tool_use"
    assert tool["content"][0]["input"] == {"location": "Boston"}


def test_a_tool_turn_is_understood(make_client: MakeClient) -> None:
    client = make_client({"21 degrees": "It is 21 degrees.<|end|>"}, template=HERMES)
    history = [
        {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": ""},
                {"type": "tool_use", "id": "call_1", "name": "get_weather", "input": {"location": "Boston"}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "21 degrees"}]},
    ]
    assert message(client, messages=history, tools=[ANTHROPIC_TOOL])["content"][0]["text"] == "It is 21 degrees."


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "get_weather"}])
def test_a_forced_tool(make_client: MakeClient, choice: dict[str, str]) -> None:
    client = make_client("never<|end|>", template=HERMES)
    answer = message(client, tools=[ANTHROPIC_TOOL], tool_choice=choice)
    assert answer["content"][0]["name"] == "get_weather"


def test_a_message_that_follows_a_schema(make_client: MakeClient) -> None:
    shape = {"type": "json_schema", "schema": {"enum": ["yes"]}}
    for given in ({"output_config": {"format": shape, "effort": "low"}}, {"output_format": shape}):
        assert message(make_client("no<|end|>"), **given)["content"][0]["text"] == '"yes"'


def test_counting_tokens(make_client: MakeClient) -> None:
    client = make_client("Hello!<|end|>")
    count = client.post("/v1/messages/count_tokens", json={"messages": HI}).get_json()
    assert count["input_tokens"] == message(client)["usage"]["input_tokens"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"messages": "hi"},
        {"messages": [1]},
        {"messages": [{"role": "robot", "content": "x"}]},
        {"messages": [{"role": "user", "content": [{"type": "hologram"}]}]},
        {"messages": HI, "system": 5},
        {"messages": HI, "tools": [{"input_schema": {}}]},
        {"messages": HI, "tool_choice": {"type": "perhaps"}},
        {"messages": HI, "tool_choice": {"type": ["auto"]}},
        {"messages": HI, "output_config": {"format": {"type": "poem"}}},
        {"messages": HI, "output_config": {"format": {"type": "json_schema"}}},
    ],
)
def test_messages_that_are_none(client: FlaskClient, body: dict[str, Any]) -> None:
    response = client.post("/v1/messages", json=body)
    assert response.status_code == 400
    assert response.get_json()["type"] == "error"
    assert response.get_json()["error"]["type"] == "invalid_request_error"


def respond(client: FlaskClient, **body: Any) -> Any:
    response = client.post("/v1/responses", json={"input": "hi", **body})
    assert response.status_code == 200, response.get_data(as_text=True)
    return response.get_json()


@pytest.mark.parametrize(
    ("script", "template", "body"),
    [
        ("Hello!<|end|>", HERMES, {}),
        (TWO_CALLS, HERMES, {"tools": [FLAT_TOOL]}),
        (THINKING, THINKER, {}),
        ("Hello!<|end|>", HERMES, {"max_output_tokens": 3}),
    ],
)
def test_responses_stream_what_the_whole_says(
    make_client: MakeClient, script: str, template: str, body: dict[str, Any]
) -> None:
    client = make_client(script, template=template)
    whole = respond(client, **body)
    stream = named_events(client.post("/v1/responses", json={"input": "hi", "stream": True, **body}))
    assert [item["sequence_number"] for item in stream] == list(range(len(stream)))
    assert [item["type"] for item in stream[:2]] == ["response.created", "response.in_progress"]
    assert stream[-1]["type"] == "response.completed"
    final = stream[-1]["response"]
    done = [item["item"] for item in stream if item["type"] == "response.output_item.done"]
    assert done == final["output"]
    for kind, key in (("response.output_text", "text"), ("response.function_call_arguments", "arguments")):
        for item in (item for item in stream if item["type"] == f"{kind}.done"):
            deltas = [e["delta"] for e in stream if e["type"] == f"{kind}.delta" and e["item_id"] == item["item_id"]]
            assert "".join(deltas) == item[key]
    assert [without_ids(item) for item in final["output"]] == [without_ids(item) for item in whole["output"]]
    assert final["status"] == whole["status"] == ("incomplete" if "max_output_tokens" in body else "completed")
    assert final["usage"]["output_tokens"] == whole["usage"]["output_tokens"]


def without_ids(item: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in ("id", "call_id")}


def test_the_whole_response(make_client: MakeClient) -> None:
    answer = respond(make_client("Hello!<|end|>"), instructions="Be brief.", metadata={"a": "b"})
    assert answer["id"].startswith("resp_")
    assert (answer["object"], answer["status"], answer["instructions"]) == ("response", "completed", "Be brief.")
    assert answer["output"][0]["id"].startswith("msg_")
    assert answer["output"][0]["content"] == [{"type": "output_text", "text": "Hello!", "annotations": []}]
    assert answer["metadata"] == {"a": "b"}


def test_a_response_may_be_sent_back_with_the_results_of_its_calls(make_client: MakeClient) -> None:
    client = make_client({"21 degrees": "It is 21.<|end|>", "Weather": TWO_CALLS}, template=HERMES)
    first = respond(client, input=[{"role": "user", "content": "Weather?"}], tools=[FLAT_TOOL])
    calls = [item for item in first["output"] if item["type"] == "function_call"]
    results = [{"type": "function_call_output", "call_id": call["call_id"], "output": "21 degrees"} for call in calls]
    turn = [{"role": "user", "content": [{"type": "input_text", "text": "Weather?"}]}, *first["output"], *results]
    assert respond(client, input=turn, tools=[FLAT_TOOL])["output"][0]["content"][0]["text"] == "It is 21."


def test_a_response_that_follows_a_schema(make_client: MakeClient) -> None:
    shape = {"type": "json_schema", "name": "x", "schema": {"enum": ["yes"]}}
    assert respond(make_client("no<|end|>"), text={"format": shape})["output"][0]["content"][0]["text"] == '"yes"'


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"input": 5},
        {"input": [5]},
        {"input": [{"role": "user"}]},
        {"input": [{"type": "computer_call"}]},
        {"input": "x", "previous_response_id": "resp_1"},
        {"input": "x", "tools": [{"type": "web_search"}]},
        {"input": "x", "text": {"format": 5}},
    ],
)
def test_responses_that_are_refused(client: FlaskClient, body: dict[str, Any]) -> None:
    assert client.post("/v1/responses", json=body).status_code == 400
