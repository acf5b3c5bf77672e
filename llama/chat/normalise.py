"""Messages as an OpenAI client sends them -> messages as a template takes them. The caller's are never changed."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from llama.chat.abilities import Abilities

REASONING = ("reasoning_content", "reasoning", "thinking")


def normalised(messages: Sequence[Mapping[str, Any]], takes: Abilities) -> list[dict[str, Any]]:
    """New messages: content, arguments and roles in the forms that the template takes."""
    return with_system([message_for(message, takes) for message in messages], takes)


def message_for(message: Mapping[str, Any], takes: Abilities) -> dict[str, Any]:
    """One message in the form the template takes."""
    made: dict[str, Any] = copied(message)
    made["content"] = content_for(made.get("content"), takes)
    name_reasoning(made, takes)
    if made.get("role") == "developer" and not takes.developer:
        made["role"] = "system"
    if made.get("tool_calls"):
        made["tool_calls"] = [call_for(call, takes) for call in made["tool_calls"]]
    else:
        made.pop("tool_calls", None)
    return made


def name_reasoning(message: dict[str, Any], takes: Abilities) -> None:
    """Older reasoning stands under each name that templates look for, where the template can have it."""
    given = [message[name] for name in REASONING if isinstance(message.get(name), str)]
    if given and message.get("content") and message.get("tool_calls") and not takes.thoughts:
        for name in REASONING:
            message.pop(name, None)
    elif given:
        for name in REASONING:
            message.setdefault(name, given[0])


def content_for(content: Any, takes: Abilities) -> Any:
    """Content as text or as parts, and "" where there is none."""
    if content is None:
        content = ""
    if isinstance(content, list) and not takes.parts:
        return joined_parts(content)
    if isinstance(content, str) and not takes.text:
        return [{"type": "text", "text": content}]
    return content


def joined_parts(parts: list[Any]) -> str:
    """The text parts, a line break between them."""
    return "\n".join(part if isinstance(part, str) else part.get("text", "") for part in parts if is_text(part))


def is_text(part: Any) -> bool:
    """True for a part that is text; a part without a type counts if it has a text."""
    return isinstance(part, str) or (part.get("type", "text") in ("text", "input_text", "refusal") and "text" in part)


def call_for(call: dict[str, Any], takes: Abilities) -> dict[str, Any]:
    """A tool call whose arguments are an object or JSON text, as the template takes them."""
    function = call.get("function")
    if not isinstance(function, dict):
        return call
    arguments = function.get("arguments")
    if takes.objects or not takes.strings:
        arguments = as_object(arguments)
    elif not isinstance(arguments, str):
        arguments = json.dumps({} if arguments is None else arguments, ensure_ascii=False)
    return {"type": "function", **call, "function": {**function, "arguments": arguments}}


def as_object(arguments: Any) -> Any:
    """The arguments as an object; text that is not JSON stays as it is."""
    if arguments is None or arguments == "":
        return {}
    if not isinstance(arguments, str):
        return arguments
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    return arguments if isinstance(value, str) else value


def with_system(messages: list[dict[str, Any]], takes: Abilities) -> list[dict[str, Any]]:
    """Without a system role, a system text goes before the next user message."""
    if takes.system or not any(message.get("role") == "system" for message in messages):
        return messages
    merged: list[dict[str, Any]] = []
    waiting: list[str] = []
    for message in messages:
        if message.get("role") == "system":
            waiting.append(plain(message["content"]))
        elif waiting and message.get("role") == "user":
            merged.append({**message, "content": in_front("\n".join(waiting), message["content"])})
            waiting.clear()
        else:
            merged.append(message)
    if waiting:
        merged.append({"role": "user", "content": in_front("\n".join(waiting), None)})
    return merged


def in_front(text: str, content: Any) -> Any:
    """The content with a text before it."""
    if isinstance(content, list):
        return [{"type": "text", "text": text + "\n"}, *content]
    return f"{text}\n{content}" if content else text


def plain(content: Any) -> str:
    """The content's text alone."""
    return joined_parts(content) if isinstance(content, list) else str(content or "")


def copied(value: Any) -> Any:
    """A deep copy of JSON data."""
    if isinstance(value, Mapping):
        return {key: copied(item) for key, item in value.items()}
    return [copied(item) for item in value] if isinstance(value, list | tuple) else value
