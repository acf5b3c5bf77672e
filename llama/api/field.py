"""Fields of a request body: a row says name, type, limits and aliases, for reading and for OpenAPI."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from llama.api.json_text import kind_of, shown
from llama.errors import InvalidRequest

LARGEST = 2**31 - 1
LARGEST_FLOAT = 1e30  # beyond it, 32-bit arithmetic on logits would overflow; nothing differs for larger numbers
Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Kind:
    """What values a field takes: `read(name, value)` checks and converts; `schema` says the same to OpenAPI."""

    read: Callable[[str, Any], Any]
    schema: Schema


@dataclass(frozen=True, slots=True)
class Field:
    """One row: `name` is what we call it, `aliases` what others do; the name wins over its aliases, in their order."""

    name: str
    kind: Kind
    help: str = ""
    aliases: tuple[str, ...] = ()


def read_fields(table: Iterable[Field], body: Mapping[str, object]) -> dict[str, Any]:
    """The values that `body` gives for the rows of `table`. Null is absent, unknown names are left alone."""
    values: dict[str, Any] = {}
    for row in table:
        for name in reversed((row.name, *row.aliases)):
            if body.get(name) is not None:
                values[row.name] = row.kind.read(name, body[name])
    return values


def object_schema(table: Iterable[Field], required: Iterable[str] = ()) -> Schema:
    """The JSON Schema of a body with these fields; other fields are allowed and ignored."""
    properties = {}
    for row in table:
        for name in (row.name, *row.aliases):
            properties[name] = {"anyOf": [row.kind.schema, {"type": "null"}], "description": row.help}
    return {"type": "object", "properties": properties, "required": list(required)}


def wrong(name: str, wanted: str, value: object) -> InvalidRequest:
    """The error for a value that is not what the field takes."""
    return InvalidRequest(f"Field '{name}': must be {wanted}, but is {kind_of(value)} {shown(value)}", name)


def out_of_range(name: str, low: float | None, high: float | None, value: object) -> InvalidRequest:
    """The error for a number beyond a limit that is not silently clamped."""
    if high is None:
        return InvalidRequest(f"Field '{name}': Value must be at least {low}, but got {shown(value)}", name)
    return InvalidRequest(
        f"Field '{name}': Value must be between {low} <= value <= {high}, but got {shown(value)}", name
    )


def number(low: float | None = None, high: float | None = None, *, clamp: bool = True) -> Kind:
    """A finite number; beyond its limits it is moved to the border, or refused without `clamp`."""

    def read(name: str, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise wrong(name, "a number", value)
        found = float(max(-LARGEST_FLOAT, min(LARGEST_FLOAT, value)))
        return _limited(name, found, low, high, clamp)

    return Kind(read, _number_schema("number", low, high, clamp))


def integer(low: int | None = None, high: int = LARGEST, *, clamp: bool = False) -> Kind:
    """A whole number; fractions are cut off. Beyond its limits it is refused, or moved to the border with `clamp`."""

    def read(name: str, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise wrong(name, "a whole number", value)
        return int(_limited(name, int(value), -LARGEST - 1 if low is None else low, high, clamp))

    return Kind(read, _number_schema("integer", low, high, clamp))


def boolean() -> Kind:
    """true or false."""

    def read(name: str, value: object) -> bool:
        if not isinstance(value, bool):
            raise wrong(name, "true or false", value)
        return value

    return Kind(read, {"type": "boolean"})


def text(*words: str) -> Kind:
    """A string; one of `words` if there are any."""

    def read(name: str, value: object) -> str:
        if not isinstance(value, str):
            raise wrong(name, "a string", value)
        if words and value not in words:
            raise wrong(name, "one of " + ", ".join(words), value)
        return value

    return Kind(read, {"type": "string", "enum": list(words)} if words else {"type": "string"})


def mapping() -> Kind:
    """A JSON object, as it is."""

    def read(name: str, value: object) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise wrong(name, "an object", value)
        return value

    return Kind(read, {"type": "object"})


def array() -> Kind:
    """A JSON array, as it is."""

    def read(name: str, value: object) -> list[Any]:
        if not isinstance(value, list):
            raise wrong(name, "an array", value)
        return value

    return Kind(read, {"type": "array"})


def list_of(member: Kind, *, lone: bool = False) -> Kind:
    """An array of `member` as a tuple; with `lone`, a single member counts as an array of one."""

    def read(name: str, value: object) -> tuple[Any, ...]:
        if lone and not isinstance(value, list):
            return (member.read(name, value),)
        if not isinstance(value, list):
            raise wrong(name, "an array", value)
        return tuple(member.read(name, item) for item in value)

    many = {"type": "array", "items": member.schema}
    return Kind(read, {"anyOf": [member.schema, many]} if lone else many)


def either(*kinds: tuple[type | tuple[type, ...], Kind], wanted: str) -> Kind:
    """The kind that goes with the type of the JSON value."""

    def read(name: str, value: object) -> object:
        for types, kind in kinds:
            if isinstance(value, types) and (not isinstance(value, bool) or types is bool):
                return kind.read(name, value)
        raise wrong(name, wanted, value)

    return Kind(read, {"anyOf": [kind.schema for _, kind in kinds]})


def anything() -> Kind:
    """Any value but null."""
    return Kind(lambda name, value: value, {})


def _limited(name: str, value: float, low: float | None, high: float | None, clamp: bool) -> float:
    if clamp:
        value = value if low is None else max(low, value)
        return value if high is None else min(high, value)
    if (low is not None and value < low) or (high is not None and value > high):
        raise out_of_range(name, low, high, value)
    return value


def _number_schema(kind: str, low: float | None, high: float | None, clamp: bool) -> Schema:
    schema: Schema = {"type": "number" if clamp else kind}
    if not clamp and low is not None:
        schema["minimum"] = low
    if not clamp and high is not None and high != LARGEST:
        schema["maximum"] = high
    return schema
