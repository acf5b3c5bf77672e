"""Turns a body of Anthropic's /v1/messages into one of /v1/chat/completions."""

import json
from collections.abc import Mapping
from typing import Any

from llama.api.field import Field, anything, array, boolean, integer, list_of, mapping, number, read_fields, text
from llama.errors import InvalidRequest

DEFAULT_MAX_TOKENS = 4096
DEFAULT_BUDGET = 10000
CHOICES = {"auto": "auto", "any": "required", "none": "none"}

ANTHROPIC_FIELDS = (
    Field("model", text(), "Any name; the answer repeats it."),
    Field("messages", array(), "The conversation."),
    Field("system", anything(), "System prompt, as text or as text blocks."),
    Field("max_tokens", integer(1), "Tokens to generate at most."),
    Field("stream", boolean(), "Send the answer as server-sent events."),
    Field("stop_sequences", list_of(text()), "Texts at which to stop."),
    Field("temperature", number(0), "Randomness."),
    Field("top_p", number(0, 1), "Nucleus sampling."),
    Field("top_k", integer(0, clamp=True), "Only the K most probable tokens."),
    Field("tools", array(), "Functions that the model may call."),
    Field("tool_choice", mapping(), "auto, any, none, or tool with its name."),
    Field("thinking", mapping(), "enabled with budget_tokens, or disabled."),
    Field("output_config", mapping(), "format: a json_schema that the answer follows; effort: how much to think."),
    Field("output_format", mapping(), "The same as format in output_config."),
    Field("metadata", mapping(), "Accepted."),
    Field("chat_template_kwargs", mapping(), "Variables for the template."),
)
SAME = ("model", "stream", "temperature", "top_p", "top_k", "chat_template_kwargs")
Body = Mapping[str, Any]


def chat_body(body: Body) -> dict[str, Any]:
    """The chat body that asks the same. Raises InvalidRequest."""
    values = read_fields(ANTHROPIC_FIELDS, body)
    if "messages" not in values:
        raise InvalidRequest("Invalid request: messages is required", "messages")
    found: dict[str, Any] = {name: values[name] for name in SAME if name in values}
    found["max_tokens"] = values.get("max_tokens", DEFAULT_MAX_TOKENS)
    found["stop"] = list(values.get("stop_sequences", ()))
    found["messages"] = _system(values.get("system")) + [
        message for turn in values["messages"] for message in _messages(turn)
    ]
    if values.get("tools"):
        found["tools"] = [_tool(tool) for tool in values["tools"]]
    found |= _choice(values.get("tool_choice")) | _thinking(values.get("thinking"))
    found |= _output(values.get("output_config", {}), values.get("output_format"))
    return {**found, **_kept(body)}


def _kept(body: Body) -> dict[str, Any]:
    """llama.cpp's own sampling fields, which clients of Anthropic's form may send too."""
    names = ("seed", "min_p", "repeat_penalty", "grammar", "json_schema", "cache_prompt", "lora", "request_id")
    return {name: body[name] for name in names if body.get(name) is not None}


def _system(system: object) -> list[dict[str, Any]]:
    if system is None:
        return []
    if isinstance(system, str):
        return [{"role": "system", "content": system}]
    return [{"role": "system", "content": _joined(system, "system")}]


def _joined(blocks: object, field: str) -> str:
    if isinstance(blocks, str):
        return blocks
    if not isinstance(blocks, list):
        raise InvalidRequest(f"Field '{field}': must be a string or an array of text blocks", field)
    texts = []
    for block in blocks:
        if not isinstance(block, dict) or not isinstance(block.get("text"), str):
            raise InvalidRequest(f"Field '{field}': only text blocks can stand here", field)
        texts.append(block["text"])
    return "\n".join(texts)


def _messages(turn: object) -> list[dict[str, Any]]:
    """One turn as chat messages: tool results become messages of their own, before what the user adds."""
    if not isinstance(turn, dict) or turn.get("role") not in ("user", "assistant", "system"):
        raise InvalidRequest("Field 'messages': each needs a role, user or assistant, and a content", "messages")
    content = turn.get("content")
    if isinstance(content, str):
        return [{"role": turn["role"], "content": content}]
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        raise InvalidRequest("Field 'messages': content must be a string or an array of blocks", "messages")
    return _assistant(content) if turn["role"] == "assistant" else _user(turn["role"], content)


def _assistant(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    message: dict[str, Any] = {"role": "assistant"}
    texts = [_field(block, "text", str) for block in blocks if block.get("type") == "text"]
    thoughts = [_field(block, "thinking", str) for block in blocks if block.get("type") == "thinking"]
    calls = [
        {
            "id": block.get("id", ""),
            "type": "function",
            "function": {"name": _field(block, "name", str), "arguments": json.dumps(block.get("input") or {})},
        }
        for block in blocks
        if block.get("type") == "tool_use"
    ]
    message["content"] = "".join(texts) if texts or not calls else None
    if thoughts:
        message["reasoning_content"] = "".join(thoughts)
    if calls:
        message["tool_calls"] = calls
    return [message]


def _user(role: str, blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []
    for block in blocks:
        kind = block.get("type")
        if kind == "tool_result":
            content = block.get("content")
            results.append(
                {
                    "role": "tool",
                    "tool_call_id": block.get("tool_use_id", ""),
                    "content": "" if content is None else _joined(content, "messages"),
                }
            )
        elif kind == "text":
            parts.append({"type": "text", "text": _field(block, "text", str)})
        elif kind == "image":
            parts.append({"type": "image_url", "image_url": {"url": _image(block)}})
        else:
            raise InvalidRequest(f"Field 'messages': blocks of type {kind!r} are not supported", "messages")
    return [*results, {"role": role, "content": parts}] if parts else results


def _image(block: dict[str, Any]) -> str:
    source = block.get("source") or {}
    if isinstance(source, dict) and isinstance(source.get("url"), str):
        return str(source["url"])
    media, data = _field(source, "media_type", str), _field(source, "data", str)
    return f"data:{media};base64,{data}"


def _tool(tool: object) -> dict[str, Any]:
    if not isinstance(tool, dict):
        raise InvalidRequest("Field 'tools': each must be an object with name and input_schema", "tools")
    function = {
        "name": _field(tool, "name", str, "tools"),
        "parameters": tool.get("input_schema") or {"type": "object", "properties": {}},
    }
    if isinstance(tool.get("description"), str):
        function["description"] = tool["description"]
    return {"type": "function", "function": function}


def _choice(choice: Body | None) -> dict[str, Any]:
    if choice is None:
        return {}
    found: dict[str, Any] = {}
    if choice.get("disable_parallel_tool_use"):
        found["parallel_tool_calls"] = False
    kind = choice.get("type")
    if kind == "tool":
        name = _field(choice, "name", str, "tool_choice")
        return {**found, "tool_choice": {"type": "function", "function": {"name": name}}}
    if not isinstance(kind, str) or kind not in CHOICES:
        raise InvalidRequest("Field 'tool_choice': type must be auto, any, none or tool", "tool_choice")
    return {**found, "tool_choice": CHOICES[kind]}


def _thinking(thinking: Body | None) -> dict[str, Any]:
    if thinking is None:
        return {}
    if thinking.get("type") == "disabled":
        return {"enable_thinking": False}
    budget = thinking.get("budget_tokens")
    return {"thinking_budget_tokens": DEFAULT_BUDGET if budget is None else integer(0).read("budget_tokens", budget)}


def _output(config: Body, shape: Body | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    shape = config.get("format") or shape
    if shape is not None:
        schema = _field(shape, "schema", dict, "output_config")
        if shape.get("type") != "json_schema":
            raise InvalidRequest("Field 'output_config': the type of format must be json_schema", "output_config")
        found["response_format"] = {"type": "json_schema", "schema": schema}
    if config.get("effort") is not None:
        found["reasoning_effort"] = _field(config, "effort", str, "output_config")
    return found


def _field(block: Mapping[str, Any], name: str, kind: type, field: str = "messages") -> Any:
    value = block.get(name) if isinstance(block, Mapping) else None
    if not isinstance(value, kind):
        raise InvalidRequest(f"Field '{field}': {name} is missing or of another type than {kind.__name__}", field)
    return value
