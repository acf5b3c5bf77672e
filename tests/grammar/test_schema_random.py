"""Random schemas against the jsonschema package: what it calls valid is accepted, what is accepted it calls valid."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from llama.errors import SchemaError
from llama.grammar import compile_schema
from tests.grammar.judging import accepted, wander
from tests.grammar.schemas import schemas, values

SETTINGS = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


def in_schema_order(value: Any, schema: Any) -> Any:
    """`value` with the properties that the schema lists first, in its order, and integers written as such."""
    schema = schema if isinstance(schema, dict) else {}
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        first, rest = schema.get("prefixItems", []), schema.get("items", True)
        return [in_schema_order(item, first[i] if i < len(first) else rest) for i, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    listed = schema.get("properties", {})
    names = [name for name in listed if name in value] + [name for name in value if name not in listed]
    others = schema.get("additionalProperties", True)
    return {name: in_schema_order(value[name], listed.get(name, others)) for name in names}


def may_be_narrower(schema: Any) -> bool:
    """True if the schema's grammar may be narrower than the schema: it is by design where schemas are combined, and
    where keywords stand without a type."""
    keywords = ("anyOf", "allOf", "oneOf", "not", '"if"', "patternProperties", "minProp", '{"minLength": 2}')
    text = json.dumps(schema)
    return any(keyword in text for keyword in keywords)


@SETTINGS
@given(schemas(), st.data())
def test_valid_values_are_accepted(schema: Any, data: st.DataObject) -> None:
    assume(not may_be_narrower(schema) and schema != {})
    value = data.draw(values().filter(Draft202012Validator(schema).is_valid))
    value = in_schema_order(value, schema)
    try:
        program = compile_schema(schema)
    except SchemaError as error:
        pytest.fail(f"refused: {error}")
    for text in (json.dumps(value), json.dumps(value, separators=(",", ":"), ensure_ascii=False)):
        assert accepted(program, text), text


@SETTINGS
@given(schemas(), st.lists(values(), min_size=1, max_size=5))
def test_invalid_values_are_refused(schema: Any, candidates: list[Any]) -> None:
    try:
        program = compile_schema(schema)
    except SchemaError:
        assume(False)
    validator = Draft202012Validator(schema if schema != {} else {"type": "object"})
    for value in candidates:
        if not validator.is_valid(value):
            assert not accepted(program, json.dumps(value)), value


@SETTINGS
@given(schemas(), st.integers(0, 2**32))
def test_what_is_accepted_is_valid(schema: Any, seed: int) -> None:
    try:
        program = compile_schema(schema)
    except SchemaError:
        assume(False)
    text = wander(program, seed)
    assume(text is not None)
    assert text is not None
    value = json.loads(text)
    Draft202012Validator(schema if schema != {} else {"type": "object"}).validate(value)
