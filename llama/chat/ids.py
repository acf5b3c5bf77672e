"""Ids of tool calls that the model gave none."""

import hashlib
import re
import secrets
import string
from collections.abc import Callable
from typing import Any

ALPHABET = string.ascii_letters + string.digits
NINE = re.compile(r"[a-zA-Z0-9]{9}")


def call_id() -> str:
    """A new id in OpenAI's form."""
    return "call_" + "".join(secrets.choice(ALPHABET) for _ in range(24))


def nine() -> str:
    """A new id of the nine characters that Mistral's templates insist on."""
    return "".join(secrets.choice(ALPHABET) for _ in range(9))


def maker(form: str) -> Callable[[], str]:
    """What makes ids for a family."""
    return nine if form == "alnum9" else call_id


def shortened(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages with ids of nine characters, where they came with others; the same id stays the same."""
    result = []
    for message in messages:
        made = dict(message)
        if isinstance(made.get("tool_call_id"), str):
            made["tool_call_id"] = _nine_of(made["tool_call_id"])
        if made.get("tool_calls"):
            made["tool_calls"] = [{**call, "id": _nine_of(str(call.get("id") or ""))} for call in made["tool_calls"]]
        result.append(made)
    return result


def _nine_of(id: str) -> str:
    return id if NINE.fullmatch(id) else hashlib.sha256(id.encode()).hexdigest()[:9]
