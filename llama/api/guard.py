"""Keeps what users write from being read as control tokens: a prompt cannot be broken out of by typing its markers."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

GUARD = "\U0010fffe"  # a code point that is no character: no text has it
USERS = ("user", "tool", "function")  # who may write anything; the others speak for the application


def control_pattern(texts: Iterable[str]) -> re.Pattern[str]:
    """Finds the texts of control tokens, longer ones first. Single characters are no marker that could be guarded."""
    longest_first = sorted({text for text in texts if len(text) > 1}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")


def guarded(messages: list[Any], controls: re.Pattern[str]) -> list[Any]:
    """The messages, with guards in every control token's text that a user or a tool wrote."""
    return [
        {**message, "content": _content(message.get("content"), controls)} if _is_users(message) else message
        for message in messages
    ]


def guarded_text(text: str, controls: re.Pattern[str]) -> str:
    """The text, with guards in every control token's text."""
    return controls.sub(lambda found: GUARD.join(found.group()), text)


def _is_users(message: Any) -> bool:
    return isinstance(message, Mapping) and any(message.get("role") == role for role in USERS) and "content" in message


def _content(content: Any, controls: re.Pattern[str]) -> Any:
    if isinstance(content, str):
        return guarded_text(content, controls)
    if not isinstance(content, list):
        return content
    return [
        {**part, "text": _content(part["text"], controls)}
        if isinstance(part, Mapping) and isinstance(part.get("text"), str)
        else part
        for part in content
    ]
