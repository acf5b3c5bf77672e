"""Arguments written as plain text between tags: their JSON types come from the tool's schema."""

import json
from collections.abc import Mapping
from typing import Any

from llama.chat.jsontext import loaded

STRING = frozenset({"string"})
KINDS: dict[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
}
MAX_REFERENCES = 20


def kinds(schema: Any, root: Any, depth: int = 0) -> frozenset[str]:
    """The JSON types that the schema allows; empty when it says nothing."""
    if not isinstance(schema, Mapping) or depth > MAX_REFERENCES:
        return frozenset()
    if "$ref" in schema:
        return kinds(referenced(schema["$ref"], root), root, depth + 1)
    if "const" in schema:
        return frozenset({kind_of(schema["const"])})
    if isinstance(schema.get("enum"), list):
        return frozenset(kind_of(value) for value in schema["enum"])
    named = schema.get("type")
    if isinstance(named, str):
        return frozenset({named})
    if isinstance(named, list):
        return frozenset(name for name in named if isinstance(name, str))
    for word in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(word), list):
            parts = [kinds(part, root, depth + 1) for part in schema[word]]
            return frozenset().union(*parts) if word != "allOf" or not all(parts) else min(parts, key=len)
    return frozenset({"object"}) if "properties" in schema else frozenset()


def referenced(pointer: Any, root: Any) -> Any:
    """What a local $ref points to."""
    target = root
    for part in str(pointer).removeprefix("#/").split("/"):
        target = target.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(target, Mapping) else None
    return target


def kind_of(value: Any) -> str:
    """The JSON type of a value."""
    return KINDS.get(type(value), "null")


def fits(value: Any, allowed: frozenset[str]) -> bool:
    """True if the value is of one of these types; without types, any will do."""
    kind = kind_of(value)
    whole = isinstance(value, float) and value.is_integer() and "integer" in allowed
    return not allowed or kind in allowed or (kind == "integer" and "number" in allowed) or whole


def encoded(text: str, allowed: frozenset[str]) -> str:
    """The JSON for a whole value written as text: JSON if that gives an allowed type, else a string."""
    if allowed == STRING:
        return json.dumps(text, ensure_ascii=False)
    stripped = text.strip()
    value = loaded(stripped)
    if value is not None and fits(value, allowed):
        return stripped
    if stripped in ("null", "None") and (not allowed or "null" in allowed):
        return "null"
    if stripped in ("True", "False", "true", "false") and (not allowed or "boolean" in allowed):
        return stripped.lower()
    return json.dumps(text, ensure_ascii=False)


def surely_text(text: str, allowed: frozenset[str]) -> bool:
    """True if a value that begins like this can only be a string."""
    if "string" not in allowed:
        return False
    start = text.lstrip()
    if not start:
        return False
    if start[0] == '"' or (start[0] in "{[" and allowed & {"object", "array"}):
        return False
    if start[0] in "-0123456789" and allowed & {"integer", "number"}:
        return False
    words = ("null", "None") * ("null" in allowed) + ("true", "false", "True", "False") * ("boolean" in allowed)
    return not any(word.startswith(start.rstrip()) for word in words)


def surely_json(text: str, allowed: frozenset[str]) -> bool:
    """True if a value that begins like this is an object or a list, to be passed on as it comes."""
    start = text.lstrip()[:1]
    return (start == "{" and allowed == {"object"}) or (start == "[" and allowed == {"array"})
