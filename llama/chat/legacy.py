"""OpenAI's first form of tools: functions, function_call, and messages of the role function."""

from typing import Any


def tools_of(functions: list[Any]) -> list[dict[str, Any]]:
    """`functions` as `tools`."""
    return [{"type": "function", "function": function} for function in functions]


def choice_of(function_call: Any) -> Any:
    """`function_call` as `tool_choice`."""
    if isinstance(function_call, dict):
        return {"type": "function", "function": {"name": function_call.get("name")}}
    return function_call


def function_call_of(message: dict[str, Any]) -> dict[str, Any]:
    """An answer with `function_call` in place of `tool_calls`."""
    calls = message.get("tool_calls")
    if not calls:
        return message
    rest = {key: value for key, value in message.items() if key != "tool_calls"}
    return {**rest, "function_call": calls[0]["function"]}


def with_tool_calls(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages in today's form: function_call becomes a tool call, and the role function the role tool."""
    result, last = [], ""
    for number, message in enumerate(messages):
        call = message.get("function_call")
        if isinstance(call, dict) and isinstance(call.get("name"), str) and not message.get("tool_calls"):
            last = f"call_{number}"
            message = {key: value for key, value in message.items() if key != "function_call"}
            message["tool_calls"] = [{"id": last, "type": "function", "function": call}]
        elif message["role"] == "function":
            message = {**message, "role": "tool", "tool_call_id": last}
        result.append(message)
    return result
