"""Reads keywords of a schema, each checked to be of the right kind."""

from decimal import Decimal
from typing import Any

from llama.grammar.schema.kinds import TYPES
from llama.grammar.schema.location import Location

NOT_IN = "not in"  # our own keywords, made by negation: no schema can hold a name with a blank by mistake
NOT_PATTERN = "not pattern"


def kinds(at: Location) -> frozenset[str] | None:
    """The kinds that `type` allows; None without `type`."""
    names = at.schema.get("type")
    if names is None:
        return None
    listed = names if isinstance(names, list) else [names]
    found: frozenset[str] = frozenset()
    for name in listed:
        if not isinstance(name, str) or name not in TYPES:
            at.refuse("type", f"unrecognized type {name!r}")
        found |= TYPES[name]
    return found | TYPES["null"] if at.schema.get("nullable") is True else found


def count(at: Location, keyword: str) -> int | None:
    """A keyword that is a non-negative integer, such as `minItems`."""
    value = at.schema.get(keyword)
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        at.refuse(keyword, f"must be a non-negative integer, got {value!r}")
    return value


def number(at: Location, keyword: str) -> Decimal | None:
    """A keyword that is a number, such as `minimum`."""
    value = at.schema.get(keyword)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or value in (1e400, -1e400):
        at.refuse(keyword, f"must be a number, got {value!r}")
    return Decimal(repr(value))


def names(at: Location, keyword: str) -> list[str]:
    """A keyword that is a list of strings, such as `required`."""
    return strings(at, keyword, at.schema.get(keyword, []))


def strings(at: Location, keyword: str, value: Any) -> list[str]:
    """`value`, checked to be a list of strings."""
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        at.refuse(keyword, f"must be a list of strings, got {value!r}")
    return value


def schemas(at: Location, keyword: str) -> dict[str, Any]:
    """A keyword that maps names to schemas, such as `properties`."""
    value = at.schema.get(keyword, {})
    if not isinstance(value, dict):
        at.refuse(keyword, f"must be an object, got {value!r}")
    for name, schema in value.items():
        check_schema(at, schema, keyword, name)
    return value


def schema_list(at: Location, keyword: str, *, may_be_empty: bool = False) -> list[Any]:
    """A keyword that is a list of schemas, such as `anyOf`."""
    value = at.schema.get(keyword, [])
    if not isinstance(value, list) or not (value or may_be_empty or keyword not in at.schema):
        at.refuse(keyword, f"must be a non-empty list of schemas, got {value!r}")
    for i, schema in enumerate(value):
        check_schema(at, schema, keyword, i)
    return value


def check_schema(at: Location, schema: Any, *steps: object) -> None:
    """Raise SchemaError unless `schema` is an object or a boolean."""
    if not isinstance(schema, dict | bool):
        at.child(schema, *steps).refuse("", f"a schema must be an object or a boolean, got {schema!r}")
