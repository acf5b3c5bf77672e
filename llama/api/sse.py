"""Server-sent events as bytes."""

from llama.api.json_text import encode

DONE = b"data: [DONE]\n\n"
PING = b":\n\n"


def data(value: object) -> bytes:
    """One event."""
    return b"data: " + encode(value) + b"\n\n"


def event(name: str, value: object) -> bytes:
    """One event with a name."""
    return b"event: " + name.encode() + b"\n" + data(value)
