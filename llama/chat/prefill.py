"""A conversation whose last turn, the assistant's, stays open so that the model goes on writing it."""

from collections.abc import Callable
from typing import Any

from llama.errors import TemplateError

CUT = "\x00cut here\x00"  # no template writes it, and none trims it away with the white space


def continued(run: Callable[..., str], messages: list[dict[str, Any]], variables: dict[str, Any]) -> str:
    """The text up to the end of the last message's content.

    A mark is put after the content and the text is cut there. Templates that need to see the last user turn last (some
    put the system text into it) lose text that way: then the turn is opened by the generation prompt instead.
    """
    *before, last = messages
    content = last["content"] if isinstance(last["content"], str) else last["content"][-1].get("text", "")
    text, mark, _ = run([*before, marked(last)], add_generation_prompt=False, **variables).partition(CUT)
    if mark and all(shown(message, text) for message in before if message.get("role") == "system"):
        return text
    try:
        return run(before, add_generation_prompt=True, **variables) + content
    except TemplateError:
        return text


def marked(message: dict[str, Any]) -> dict[str, Any]:
    """The message with the mark after its content."""
    content = message["content"]
    if isinstance(content, list):
        *rest, part = content
        return {**message, "content": [*rest, {**part, "text": part.get("text", "") + CUT}]}
    return {**message, "content": content + CUT}


def shown(message: dict[str, Any], text: str) -> bool:
    """True if the message's text stands in the rendered text."""
    content = message["content"]
    parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
    return all(part.strip() in text for part in parts)
