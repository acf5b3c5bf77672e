"""The kinds of JSON values, and what is the same value."""

import json
from collections.abc import Iterable
from typing import Any

NULL, BOOLEAN, INTEGER, FRACTION, STRING, ARRAY, OBJECT = (
    "null",
    "boolean",
    "integer",
    "fraction",
    "string",
    "array",
    "object",
)
"""FRACTION: a number that is not an integer; JSON Schema's `number` is both."""

ALL_KINDS = frozenset({NULL, BOOLEAN, INTEGER, FRACTION, STRING, ARRAY, OBJECT})
NUMBER = frozenset({INTEGER, FRACTION})
TYPES: dict[str, frozenset[str]] = {
    "null": frozenset({NULL}),
    "boolean": frozenset({BOOLEAN}),
    "integer": frozenset({INTEGER}),
    "number": NUMBER,
    "string": frozenset({STRING}),
    "array": frozenset({ARRAY}),
    "object": frozenset({OBJECT}),
    FRACTION: frozenset({FRACTION}),  # our own, from a negated "integer"
}


def kind_of(value: Any) -> str:
    """The kind of a JSON value."""
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, int):
        return INTEGER
    if isinstance(value, float):
        return INTEGER if value.is_integer() else FRACTION
    if value is None:
        return NULL
    return STRING if isinstance(value, str) else ARRAY if isinstance(value, list) else OBJECT


def same_key(value: Any) -> str:
    """A text that is the same for equal JSON values: 1 and 1.0 are equal, 1 and true are not."""
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return value


def unique(values: Iterable[Any]) -> list[Any]:
    """The values without doubles, in order."""
    return list({same_key(value): value for value in reversed(list(values))}.values())[::-1]
