"""The messages of a request, checked. The caller's are never changed."""

import json
from collections.abc import Mapping
from typing import Any

from llama.chat.legacy import with_tool_calls
from llama.errors import InvalidRequest

TEXT = ("text", "input_text", "output_text", "refusal")
MEDIA = {
    "image_url": "images",
    "image": "images",
    "input_image": "images",
    "input_audio": "audio",
    "audio_url": "audio",
    "input_video": "videos",
    "video_url": "videos",
}


def checked(messages: Any) -> list[dict[str, Any]]:
    """Copies of the messages, with calls in today's form. Raises InvalidRequest."""
    if not isinstance(messages, list):
        raise InvalidRequest("Expected 'messages' to be an array", "messages")
    if not messages:
        raise InvalidRequest("'messages' must hold at least one message", "messages")
    return with_tool_calls([checked_message(message, index) for index, message in enumerate(messages)])


def checked_message(message: Any, index: int) -> dict[str, Any]:
    """One message."""
    place = f"messages[{index}]"
    if not isinstance(message, Mapping):
        raise InvalidRequest(f"{place} must be an object", "messages")
    role = message.get("role")
    if not isinstance(role, str) or not role:
        raise InvalidRequest(f'{place} needs a "role"', "messages")
    if role != "assistant" and "content" not in message:
        raise InvalidRequest(f"All non-assistant messages must contain 'content' ({place} has none)", "messages")
    calls = message.get("tool_calls") or message.get("function_call")
    if "content" not in message and not calls and not message.get("reasoning_content"):
        raise InvalidRequest(f"Assistant message must contain either 'content' or 'tool_calls'! ({place})", "messages")
    checked_calls(message.get("tool_calls"), place)
    content = message.get("content")
    if role == "tool" and isinstance(content, Mapping):
        content = json.dumps(content, ensure_ascii=False)  # a result is often sent as the object it is
    return {**message, "content": checked_content(content, place)}


def checked_content(content: Any, place: str) -> Any:
    """Text, a list of text parts, or nothing."""
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list):
        return [checked_part(part, f"{place}.content[{number}]") for number, part in enumerate(content)]
    raise InvalidRequest(f"Expected 'content' to be a string or an array ({place})", "messages")


def checked_part(part: Any, place: str) -> dict[str, Any]:
    """One part of a content."""
    if isinstance(part, str):
        return {"type": "text", "text": part}
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind in MEDIA:
        raise InvalidRequest(f"{place}: this server takes text only, no {MEDIA[kind]}: leave the part out", "messages")
    text = part.get("text", part.get("refusal")) if isinstance(part, Mapping) else None
    if kind not in TEXT or not isinstance(text, str):
        raise InvalidRequest(f'{place}: unsupported content[].type, expected a part of type "text"', "messages")
    return {"type": "text", "text": text}


def checked_calls(calls: Any, place: str) -> None:
    """Refuse tool calls that no template could show."""
    if calls is None:
        return
    if not isinstance(calls, list):
        raise InvalidRequest(f"{place}.tool_calls must be an array", "messages")
    for number, call in enumerate(calls):
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            raise InvalidRequest(f"{place}.tool_calls[{number}] needs a function with a name", "messages")
