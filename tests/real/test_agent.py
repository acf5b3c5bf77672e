"""An agent's loop: three turns in which everything that was received is sent back, in each of the three protocols."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.running import RunningServer

pytestmark = pytest.mark.real_model

QUESTIONS = ("Weather in Rome?", "And what time is it in Tokyo?", "Thanks. Weather in Oslo?")
ARGUMENTS = {
    name: {"type": "object", "properties": {key: {"type": "string", "maxLength": 12}}, "required": [key]}
    for name, key in (("get_weather", "city"), ("get_time", "zone"))
}
Turn = Callable[[RunningServer, list[Any], str], int]


def chat(server: RunningServer, history: list[Any], question: str) -> int:
    """Question, call, result, words over /v1/chat/completions; tokens that came from the cache."""
    history.append({"role": "user", "content": question})
    tools = [{"type": "function", "function": {"name": name, "parameters": p}} for name, p in ARGUMENTS.items()]
    body = {"messages": history, "tools": tools, "max_tokens": 200, "temperature": 0}
    called = server.post("/v1/chat/completions", {**body, "tool_choice": "required"})
    message = called["choices"][0]["message"]
    history.append(message)
    for call in message["tool_calls"]:
        assert set(json.loads(call["function"]["arguments"])) == set(ARGUMENTS[call["function"]["name"]]["required"])
        history.append({"role": "tool", "tool_call_id": call["id"], "content": "fine"})
    said = server.post("/v1/chat/completions", {**body, "max_tokens": 12})
    history.append(said["choices"][0]["message"])
    return int(called["usage"]["prompt_tokens_details"]["cached_tokens"])


def messages(server: RunningServer, history: list[Any], question: str) -> int:
    """The same over /v1/messages."""
    history.append({"role": "user", "content": question})
    tools = [{"name": name, "input_schema": p} for name, p in ARGUMENTS.items()]
    body = {"messages": history, "tools": tools, "max_tokens": 200, "temperature": 0, "system": "You help."}
    called = server.post("/v1/messages", {**body, "tool_choice": {"type": "any"}})
    assert called["stop_reason"] == "tool_use"
    history.append({"role": "assistant", "content": called["content"]})
    calls = [block for block in called["content"] if block["type"] == "tool_use"]
    results = [{"type": "tool_result", "tool_use_id": call["id"], "content": "fine"} for call in calls]
    history.append({"role": "user", "content": results})
    said = server.post("/v1/messages", {**body, "max_tokens": 12})
    history.append({"role": "assistant", "content": said["content"]})
    return int(called["usage"]["cache_read_input_tokens"])


def responses(server: RunningServer, history: list[Any], question: str) -> int:
    """The same over /v1/responses."""
    history.append({"role": "user", "content": question})
    tools = [{"type": "function", "name": name, "parameters": p} for name, p in ARGUMENTS.items()]
    body = {"input": history, "tools": tools, "max_output_tokens": 200, "temperature": 0}
    called = server.post("/v1/responses", {**body, "tool_choice": "required"})
    history += called["output"]
    calls = [item for item in called["output"] if item["type"] == "function_call"]
    assert calls
    history += [{"type": "function_call_output", "call_id": call["call_id"], "output": "fine"} for call in calls]
    history += server.post("/v1/responses", {**body, "max_output_tokens": 12})["output"]
    return int(called["usage"]["input_tokens_details"]["cached_tokens"])


@pytest.mark.parametrize("turn", [chat, messages, responses])
def test_three_turns(real_server: RunningServer, turn: Turn) -> None:
    history: list[Any] = []
    cached = [turn(real_server, history, question) for question in QUESTIONS]
    assert cached[0] < cached[1] < cached[2]
