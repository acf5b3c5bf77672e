"""Tools for templates that know none: told in the system text, and earlier calls and results written as plain text."""

import json
from typing import Any

from llama.chat.normalise import as_object, plain

TEXT = """You can call the functions listed below. To call one, write this and nothing else:
{example}
NAME is the function's name, ARGUMENT and VALUE stand for each of its arguments. Write one such block for each call. \
If no function is needed, answer in plain words.
Functions, one in a line:
{tools}"""
EXAMPLE = '<tool_call>\n{"name": "NAME", "arguments": {"ARGUMENT": "VALUE"}}\n</tool_call>'


def system_text(tools: list[dict[str, Any]], example: str = EXAMPLE) -> str:
    """What the model is told about the tools, with an example of how its family writes a call.

    It is the same whether a call is required or not, so that the cache keeps it; what is required the grammar sees to.
    """
    lines = "\n".join(json.dumps(tool["function"], ensure_ascii=False) for tool in tools)
    return TEXT.format(example=example, tools=lines)


def with_system_text(messages: list[dict[str, Any]], text: str) -> list[dict[str, Any]]:
    """The messages with this text at the end of the system text."""
    first = messages[0] if messages else None
    if first is None or first["role"] not in ("system", "developer"):
        return [{"role": "system", "content": text}, *messages]
    content = plain(first["content"])
    return [{**first, "content": f"{content}\n\n{text}" if content else text}, *messages[1:]]


def written_out(messages: list[dict[str, Any]], calls: bool, results: bool) -> list[dict[str, Any]]:
    """The messages with earlier calls, or results, or both, as text; results together as one user's message."""
    made: list[dict[str, Any]] = []
    joins = False  # the last message is made of results, what the user says next is added to it
    for message in messages:
        role = message["role"]
        if results and role == "tool":
            text = f"<tool_response>\n{plain(message.get('content'))}\n</tool_response>"
            made = added(made, text) if joins else [*made, {"role": "user", "content": text}]
            joins = True
        elif joins and role == "user":
            made, joins = added(made, plain(message["content"])), False
        else:
            made.append(call_text(message) if calls and message.get("tool_calls") else message)
            joins = False
    return made


def added(messages: list[dict[str, Any]], text: str) -> list[dict[str, Any]]:
    """The messages with more text in the last one."""
    *before, last = messages
    return [*before, {**last, "content": f"{last['content']}\n{text}"}]


def call_text(message: dict[str, Any]) -> dict[str, Any]:
    """An assistant's message with its calls as text."""
    blocks = [plain(message.get("content"))]
    for call in message["tool_calls"]:
        function = call["function"]
        value = {"name": function["name"], "arguments": as_object(function.get("arguments"))}
        blocks.append(f"<tool_call>\n{json.dumps(value, ensure_ascii=False)}\n</tool_call>")
    rest = {key: value for key, value in message.items() if key != "tool_calls"}
    return {**rest, "content": "\n".join(block for block in blocks if block)}
