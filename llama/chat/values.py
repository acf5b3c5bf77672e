"""Arguments written as plain text between tags: their JSON types come from the tool's schema."""

import ast
import json
import re
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
JSON_START = re.compile(r"""\s*(?:(\{)\s*["}]|(\[)\s*["\[{\]\d-])""")


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


def parts_of(schema: Any, key: str | None, root: Any, depth: int = 0) -> Any:
    """The schema of a member, or with no key that of a list's items; None when nothing is said."""
    if not isinstance(schema, Mapping) or depth > MAX_REFERENCES:
        return None
    if "$ref" in schema:
        return parts_of(referenced(schema["$ref"], root), key, root, depth + 1)
    found = schema.get("items") if key is None else (schema.get("properties") or {}).get(key)
    if found is None and key is not None and isinstance(schema.get("additionalProperties"), Mapping):
        found = schema["additionalProperties"]
    for word in ("anyOf", "oneOf", "allOf"):
        for part in schema.get(word) or ():
            found = found if found is not None else parts_of(part, key, root, depth + 1)
    return found


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
    literal = python_literal(stripped) if stripped[:1] in ("[", "{") else None
    if literal is not None and fits(literal, allowed):
        return json.dumps(literal, ensure_ascii=False)
    return json.dumps(text, ensure_ascii=False)


def python_literal(text: str) -> Any:
    """The value of a Python literal, or None; line breaks may stand in its strings as they are."""
    for form in (text, text.replace("\n", "\\n").replace("\r", "\\r")):
        try:
            value = ast.literal_eval(form)
            json.dumps(value)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
        return value
    return None


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
    start = JSON_START.match(text)
    return start is not None and allowed == {"object" if start.group(1) else "array"}
