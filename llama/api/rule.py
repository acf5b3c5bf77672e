"""Reads what binds the output: grammars, schemas, and the other names under which clients send them."""

import json
from collections.abc import Mapping
from typing import Any

from llama.api.call import Rule
from llama.api.field import list_of, text, wrong
from llama.api.json_text import shown
from llama.errors import InvalidRequest
from llama.grammar import Trigger
from llama.grammar.constraint import TriggerKind

ANY_OBJECT = {"type": "object"}
TRIGGER_KINDS: dict[object, TriggerKind] = {
    0: "token",
    1: "word",
    2: "pattern",
    3: "pattern_full",
    "token": "token",
    "word": "word",
    "pattern": "pattern",
    "pattern_full": "pattern_full",
}


def read_rule(values: Mapping[str, Any], *, exclusive: bool) -> Rule | None:
    """The rule that `values` ask for. A grammar beside a json_schema wins, or with `exclusive` is refused.

    Raises InvalidRequest for two rules at once.
    """
    found = [rule for rule in (_format(values), _structured(values), *_guided(values)) if rule is not None]
    grammar, schema = values.get("grammar"), values.get("json_schema")
    if grammar and schema is not None and exclusive:
        raise InvalidRequest("Cannot use both json_schema and grammar", "grammar")
    if grammar:
        found.append(Rule("grammar", grammar, "grammar"))
    elif schema is not None and not any(rule.field == "response_format" for rule in found):
        found.append(_schema(schema, "json_schema"))
    if len(found) > 1:
        names = " and ".join(rule.field for rule in found)
        raise InvalidRequest(f"{names} cannot both bind the output; send one of them", found[-1].field)
    return found[0] if found else None


def _schema(value: object, field: str) -> Rule:
    if not isinstance(value, dict | bool):
        raise wrong(field, "a JSON Schema (an object)", value)
    return Rule("schema", value if value not in ({}, True) else ANY_OBJECT, field)


def _format(values: Mapping[str, Any]) -> Rule | None:
    body = values.get("response_format")
    if body is None:
        return None
    kind = body.get("type")
    if kind in (None, "text"):
        return None
    if kind == "json_object":
        schema = body.get("schema")
        return _schema(values.get("json_schema", {}) if schema is None else schema, "response_format")
    if kind == "json_schema":
        return _schema(_schema_of(body), "response_format")
    raise InvalidRequest(
        f'response_format type must be one of "text", "json_object" or "json_schema", but got: {shown(kind)}',
        "response_format",
    )


def _schema_of(body: Mapping[str, Any]) -> object:
    """The schema of a json_schema format: below `json_schema`, or that itself, or below `schema`; else any object."""
    wrapped = body.get("json_schema")
    if wrapped is None:
        return {} if body.get("schema") is None else body["schema"]
    if not isinstance(wrapped, dict):
        raise wrong("response_format", 'an object with "json_schema": {"schema": ...}', body)
    if wrapped.get("schema") is not None:
        return wrapped["schema"]
    own = {key: value for key, value in wrapped.items() if key not in ("name", "strict", "description", "schema")}
    return own or ({} if body.get("schema") is None else body["schema"])


def _structured(values: Mapping[str, Any]) -> Rule | None:
    body = values.get("structured_outputs") or {}
    given = {key: value for key, value in body.items() if value is not None and value is not False}
    readers = {
        "json": lambda value: _schema(_parsed(value, "structured_outputs"), "structured_outputs"),
        "json_object": lambda value: Rule("schema", ANY_OBJECT, "structured_outputs"),
        "regex": lambda value: Rule("regex", text().read("structured_outputs", value), "structured_outputs"),
        "choice": lambda value: _choice(list_of(text()).read("structured_outputs", value), "structured_outputs"),
        "grammar": lambda value: Rule("grammar", text().read("structured_outputs", value), "structured_outputs"),
    }
    rules = [readers[key](value) for key, value in given.items() if key in readers]
    if len(rules) > 1 or (given and not rules):
        names = ", ".join(readers)
        raise InvalidRequest(f"Field 'structured_outputs': must hold exactly one of {names}", "structured_outputs")
    return rules[0] if rules else None


def _guided(values: Mapping[str, Any]) -> list[Rule]:
    rules = []
    if "guided_json" in values:
        rules.append(_schema(_parsed(values["guided_json"], "guided_json"), "guided_json"))
    if "guided_regex" in values:
        rules.append(Rule("regex", values["guided_regex"], "guided_regex"))
    if "guided_choice" in values:
        rules.append(_choice(values["guided_choice"], "guided_choice"))
    if "guided_grammar" in values:
        rules.append(Rule("grammar", values["guided_grammar"], "guided_grammar"))
    return rules


def _choice(texts: tuple[str, ...], field: str) -> Rule:
    if not texts:
        raise InvalidRequest(f"Field '{field}': the choice must not be empty", field)
    return Rule("choice", texts, field)


def _parsed(value: object, field: str) -> object:
    """A schema that may be sent as JSON text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"Field '{field}': not a JSON Schema: {error}", field) from None


def read_triggers(values: Mapping[str, Any]) -> tuple[Trigger, ...]:
    """The triggers of a lazy grammar. Raises InvalidRequest when there are none, or one has another shape."""
    if not values.get("grammar_lazy"):
        return ()
    items = values.get("grammar_triggers") or []
    if not items:
        raise InvalidRequest(
            "grammar_lazy needs grammar_triggers: nothing would ever start the grammar", "grammar_lazy"
        )
    return tuple(_trigger(item) for item in items)


def _trigger(item: object) -> Trigger:
    shape = 'an array of {"type": 0..3, "value": string, "token": id}'
    if not isinstance(item, dict):
        raise wrong("grammar_triggers", shape, item)
    name, value, token = item.get("type"), item.get("value", ""), item.get("token")
    kind = TRIGGER_KINDS.get(name) if isinstance(name, int | str) and not isinstance(name, bool) else None
    is_token = token is None or (isinstance(token, int) and not isinstance(token, bool))
    if kind is None or not isinstance(value, str) or not is_token or (kind == "token" and token is None):
        raise wrong("grammar_triggers", shape, item)
    return Trigger(kind, value, token)


def read_preserved(values: Mapping[str, Any]) -> tuple[int | str, ...]:
    """The tokens that are shown though they are control tokens, as ids or texts."""
    items = values.get("preserved_tokens") or []
    for item in items:
        if isinstance(item, bool) or not isinstance(item, int | str):
            raise wrong("preserved_tokens", "an array of ids or texts", item)
    return tuple(items)
