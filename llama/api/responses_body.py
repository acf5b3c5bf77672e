"""Turns a body of OpenAI's /v1/responses into one of /v1/chat/completions."""

from collections.abc import Mapping
from typing import Any

from llama.api.field import Field, anything, array, boolean, integer, mapping, number, read_fields, text
from llama.errors import InvalidRequest

RESPONSES_FIELDS = (
    Field("model", text(), "Any name; the answer repeats it."),
    Field("input", anything(), "Text, or an array of items: messages, calls and their results."),
    Field("instructions", text(), "System prompt."),
    Field("max_output_tokens", integer(1), "Tokens to generate at most."),
    Field("stream", boolean(), "Send the answer as server-sent events."),
    Field("temperature", number(0), "Randomness."),
    Field("top_p", number(0, 1), "Nucleus sampling."),
    Field("top_logprobs", integer(0, 20), "Alternatives with each token."),
    Field("tools", array(), "Functions that the model may call."),
    Field("tool_choice", anything(), "auto, none, required, or the function to call."),
    Field("parallel_tool_calls", boolean(), "Several calls in one answer."),
    Field("reasoning", mapping(), "effort: how much to think."),
    Field("text", mapping(), "format: text, json_object or json_schema."),
    Field("previous_response_id", text(), "Not supported: send the whole conversation as input."),
    Field("store", boolean(), "Accepted; nothing is stored."),
    Field("metadata", mapping(), "Repeated in the answer."),
    Field("user", text(), "Accepted."),
)
SAME = ("model", "stream", "temperature", "top_p", "parallel_tool_calls")
KEPT = (
    "seed",
    "top_k",
    "min_p",
    "repeat_penalty",
    "grammar",
    "json_schema",
    "cache_prompt",
    "lora",
    "request_id",
    "stop",
)
TEXT_PARTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")
Body = Mapping[str, Any]


def chat_body(body: Body) -> dict[str, Any]:
    """The chat body that asks the same. Raises InvalidRequest."""
    values = read_fields(RESPONSES_FIELDS, body)
    if values.get("previous_response_id"):
        raise InvalidRequest(
            "previous_response_id is not supported: nothing is stored; send the whole conversation as input",
            "previous_response_id",
        )
    if "input" not in values:
        raise InvalidRequest("Invalid request: input is required", "input")
    found: dict[str, Any] = {name: values[name] for name in SAME if name in values}
    found |= {name: body[name] for name in KEPT if body.get(name) is not None}
    if "max_output_tokens" in values:
        found["max_tokens"] = values["max_output_tokens"]
    system = [{"role": "system", "content": values["instructions"]}] if values.get("instructions") else []
    found["messages"] = system + _conversation(values["input"])
    if values.get("tools"):
        found["tools"] = [_tool(tool) for tool in values["tools"]]
    if "tool_choice" in values:
        found["tool_choice"] = _choice(values["tool_choice"])
    effort = values.get("reasoning", {}).get("effort")
    if effort is not None:
        found["reasoning_effort"] = effort
    if values.get("top_logprobs"):
        found |= {"logprobs": True, "top_logprobs": values["top_logprobs"]}
    shape = values.get("text", {}).get("format")
    if shape is not None:
        found["response_format"] = _format(shape)
    return found


def _conversation(value: object) -> list[dict[str, Any]]:
    if isinstance(value, str):
        return [{"role": "user", "content": value}]
    if not isinstance(value, list):
        raise InvalidRequest("Field 'input': must be a string or an array of items", "input")
    messages: list[dict[str, Any]] = []
    for item in value:
        _add(messages, item)
    return messages


def _add(messages: list[dict[str, Any]], item: object) -> None:
    """Append an item; calls and thoughts join the assistant's message before them."""
    if not isinstance(item, dict):
        raise InvalidRequest("Field 'input': items must be objects", "input")
    kind = item.get("type", "message")
    if kind == "message":
        role = item.get("role")
        if role not in ("user", "assistant", "system", "developer"):
            raise InvalidRequest("Field 'input': a message needs a role", "input")
        content = _content(item.get("content"))
        last = messages[-1] if messages else {}
        if role == "assistant" and last.get("role") == "assistant" and "content" not in last:
            last["content"] = content
        else:
            messages.append({"role": role, "content": content})
    elif kind == "function_call":
        function = {"name": _text(item, "name"), "arguments": _text(item, "arguments")}
        call: dict[str, Any] = {
            "id": item.get("call_id") or item.get("id") or "",
            "type": "function",
            "function": function,
        }
        _assistant(messages).setdefault("tool_calls", []).append(call)
    elif kind == "function_call_output":
        output = item.get("output")
        content = output if isinstance(output, str) else _content(output)
        messages.append({"role": "tool", "tool_call_id": item.get("call_id", ""), "content": content})
    elif kind == "reasoning":
        parts = item.get("content") or item.get("summary") or []
        thought = "".join(part.get("text", "") for part in parts if isinstance(part, dict))
        if thought:
            messages.append({"role": "assistant", "reasoning_content": thought})
    else:
        raise InvalidRequest(f"Field 'input': items of type {kind!r} are not supported", "input")


def _assistant(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """The assistant's message that a call belongs to."""
    if not messages or messages[-1]["role"] != "assistant":
        messages.append({"role": "assistant"})
    messages[-1].setdefault("content", None)
    return messages[-1]


def _content(content: object) -> Any:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise InvalidRequest("Field 'input': content must be a string or an array of parts", "input")
    parts: list[dict[str, Any]] = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in TEXT_PARTS:
            parts.append({"type": "text", "text": _text(part, "text")})
        elif kind == "refusal":
            parts.append({"type": "text", "text": _text(part, "refusal")})
        elif kind == "input_image":
            parts.append({"type": "image_url", "image_url": {"url": part.get("image_url")}})
        else:
            raise InvalidRequest(f"Field 'input': content parts of type {kind!r} are not supported", "input")
    return parts[0]["text"] if len(parts) == 1 and "text" in parts[0] else parts


def _tool(tool: object) -> dict[str, Any]:
    if not isinstance(tool, dict):
        raise InvalidRequest("Field 'tools': each must be an object", "tools")
    if tool.get("type") != "function":
        raise InvalidRequest(f"Field 'tools': only functions are supported, not {tool.get('type')!r}", "tools")
    if "function" in tool:
        return tool
    names = ("name", "description", "parameters", "strict")
    return {"type": "function", "function": {name: tool[name] for name in names if tool.get(name) is not None}}


def _choice(choice: object) -> object:
    if isinstance(choice, dict) and choice.get("type") == "function" and "function" not in choice:
        return {"type": "function", "function": {"name": choice.get("name")}}
    return choice


def _format(shape: object) -> dict[str, Any]:
    if not isinstance(shape, dict):
        raise InvalidRequest("Field 'text': format must be an object", "text")
    if shape.get("type") == "json_schema" and "json_schema" not in shape:
        return {"type": "json_schema", "json_schema": {key: value for key, value in shape.items() if key != "type"}}
    return shape


def _text(item: Mapping[str, Any], name: str) -> str:
    value = item.get(name)
    if not isinstance(value, str):
        raise InvalidRequest(f"Field 'input': {name} must be a string", "input")
    return value
