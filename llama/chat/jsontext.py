"""Reads JSON that comes in pieces: strings whole, other values passed on as raw text while they come."""

import json
from typing import Any

import regex

from llama.chat.source import Emit, Reading, Source

STRING = regex.compile(r'"(?:[^"\\]|\\.)*"', regex.DOTALL)
OUTSIDE = regex.compile(r'[^"{}\[\]]+|[{}\[\]"]')
INSIDE = regex.compile(r'[^"\\]+|\\.|"', regex.DOTALL)
SCALAR = regex.compile(r"[^\s,\]}]+(?P<body>[\s,\]}])")


class NotJson(Exception):
    """The text is not the JSON that was expected here."""


def string(source: Source) -> Reading[str]:
    """The value of the JSON string that comes next. Raises NotJson, or Ended."""
    match = yield from source.take(STRING)
    if match is None:
        raise NotJson
    try:
        return str(json.loads(match.group(), strict=False))
    except ValueError:
        return str(match.group()[1:-1])


def value(source: Source, emit: Emit) -> Reading[None]:
    """Pass on the raw text of the value that comes next, as it comes. Raises NotJson, or Ended."""
    first = yield from source.peek()
    if first in "{[":
        yield from nested(source, emit)
    elif first == '"':
        match = yield from source.take(STRING)
        if match is None:
            raise NotJson
        emit(match.group())
    else:
        emit((yield from scalar(source)))


def nested(source: Source, emit: Emit) -> Reading[None]:
    """Pass on an object or a list, up to the bracket that closes it."""
    depth, quoted = 0, False
    while True:
        yield from source.peek()
        start = source.at
        while source.at < len(source.text):
            match = (INSIDE if quoted else OUTSIDE).match(source.text, source.at)
            if match is None:  # a backslash whose partner is still to come
                break
            source.at = match.end()
            piece = match.group()
            if piece == '"':
                quoted = not quoted
            elif not quoted and piece in "{[":
                depth += 1
            elif not quoted and piece in "]}":
                depth -= 1
                if not depth:
                    emit(source.text[start : source.at])
                    return
        if source.at > start:
            emit(source.text[start : source.at])
        if source.at < len(source.text):
            yield from source.wait()


def scalar(source: Source) -> Reading[str]:
    """A number or a word, up to what ends it."""
    match = yield from source.take(SCALAR)
    if match is None:
        raise NotJson
    return str(match.group()[: match.start("body") - match.start()])


def skip(text: str) -> None:
    """Drop a value that nobody asked for."""


def is_object(text: str) -> bool:
    """True if the text is a JSON object."""
    return isinstance(loaded(text), dict)


def loaded(text: str) -> Any:
    """The text's JSON value, or None if it is not JSON."""
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def tidied(arguments: str) -> str:
    """A call's arguments, given as any JSON value, as the text of an object.

    Nothing, null and "" are no arguments; a string that holds an object is that object.
    """
    text = arguments.strip()
    if text in ("", "null", '""'):
        return "{}"
    inner = loaded(text) if text[0] == '"' else None
    if isinstance(inner, str):
        return inner if is_object(inner) else ("{}" if not inner.strip() else text)
    return text
