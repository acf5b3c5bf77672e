"""JSON Schema keyword by keyword: what is enforced, and what is refused with its place."""

import json
from typing import Any

import pytest

from llama.errors import SchemaError
from llama.grammar import Converter, Rules, compile_grammar, compile_schema
from llama.grammar.schema import instance
from llama.grammar.schema.kinds import same_key
from tests.grammar.judging import accepted, check

NODE = {"type": "object", "properties": {"v": {"type": "integer"}, "next": {"$ref": "#"}}, "required": ["v"]}


@pytest.mark.parametrize(
    ("schema", "yes", "no"),
    [
        (True, ["1", "{}", '"x"', "[null]"], ["", "nul"]),
        ({}, ["{}", '{"a": 1}'], ["1", "[]"]),
        ({"type": ["integer", "null"]}, ["1", "null"], ["1.5", '"1"']),
        ({"type": "string", "nullable": True}, ['"a"', "null"], ["1"]),
        ({"enum": [1, "a", None, [1, {"b": 2}]]}, ["1", '"a"', "null", '[1, {"b": 2}]'], ["2", "[1]"]),
        ({"const": "é\n/"}, ['"é\\n/"', '"\\u00e9\\n/"'], ['"e\\n/"']),
        ({"type": "integer", "minimum": -5, "maximum": 12}, ["-5", "0", "12"], ["-6", "13", "-0", "05", "1.0"]),
        ({"type": "integer", "multipleOf": 7}, ["0", "7", "-14", "700"], ["1", "-13"]),
        ({"type": "number", "multipleOf": 0.05}, ["0.05", "1", "2.10"], ["0.01", "0.051"]),
        ({"type": "number", "minimum": 0}, ["0", "0.5", "1e-07", "1e+20", "3.25"], ["-1", "-0.5"]),
        ({"type": "number", "exclusiveMinimum": 0, "maximum": 1}, ["0.001", "1", "1.0", "5e-07"], ["0", "0.0", "1.01"]),
        ({"type": "number", "maximum": -2.5}, ["-2.5", "-3", "-1e+17"], ["-2.49", "0", "2.5", "-1e-3"]),
        ({"minimum": 3, "exclusiveMinimum": True}, ["4", '"a"'], ["3"]),
        (
            {"type": "string", "minLength": 2, "maxLength": 3},
            ['"ab"', '"é\\n\\""', '"\\ud83d\\ude42x"'],
            ['"a"', '"abcd"'],
        ),
        (
            {"type": "string", "pattern": "^a+$", "minLength": 2, "maxLength": 4},
            ['"aa"', '"aaaa"'],
            ['"a"', '"aaaaa"', '"ab"'],
        ),
        (
            {"pattern": "a", "allOf": [{"pattern": "b"}, {"maxLength": 3}]},
            ['"xab"', '"ba"'],
            ['"a"', '"b"', '"xxab"', "1"],
        ),
        ({"type": "string", "pattern": "^\\p{Lu}\\p{L}*$"}, ['"Él"'], ['"él"', '"E1"']),
        ({"type": "string", "format": "date"}, ['"2024-02-29"'], ['"2023-02-29"', '"2024-13-01"']),
        ({"type": "string", "format": "ipv4"}, ['"192.168.0.1"'], ['"256.0.0.1"']),
        ({"type": "string", "format": "color", "maxLength": 2}, ['"ab"'], ['"abc"']),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, ["[1, 2]", "[1,2,3]"], ["[]", "[1]"]),
        ({"items": [{"type": "integer"}], "additionalItems": False}, ["[]", "[1]"], ["[1, 2]", '["a"]', "{}"]),
        ({"type": "array", "prefixItems": [True], "items": False, "minItems": 1}, ["[1]"], ["[]", "[1, 2]"]),
        ({"type": "array", "contains": {"const": 1}, "items": {"enum": [1, 2]}}, ["[2, 1]", "[1]"], ["[]", "[2]"]),
        ({"type": "array", "contains": {"const": 1}, "maxContains": 1}, ["[1]", "[2, 1]"], ["[1, 1]", "[2]"]),
        (
            {"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": True},
            ["[]", '["b", "a"]'],
            ['["a", "a"]'],
        ),
        (
            {"type": "object", "properties": {"a": True}, "additionalProperties": {"type": "null"}},
            ['{"a": 1, "b": null}'],
            ['{"b": 1}'],
        ),
        ({"type": "object", "propertyNames": {"pattern": "^x"}}, ["{}", '{"xa": 1}'], ['{"a": 1}']),
        ({"type": "object", "minProperties": 1, "properties": {"a": True, "b": True}}, ['{"b": 1}'], ["{}"]),
        (
            {"type": "object", "maxProperties": 1, "properties": {"a": True, "b": True}},
            ["{}", '{"a": 1}'],
            ['{"a": 1, "b": 2}'],
        ),
        (
            {"properties": {"a": True, "b": True}, "dependentRequired": {"a": ["b"]}},
            ['{"b": 1}', '{"a": 1, "b": 1}'],
            ['{"a": 1}'],
        ),
        (NODE, ['{"v": 1, "next": {"v": 2}}'], ['{"v": 1, "next": {}}']),
        ({"$ref": "#here", "$defs": {"x": {"$anchor": "here", "type": "null"}}}, ["null"], ["1"]),
        ({"$ref": "#/$defs/a", "maxLength": 1, "$defs": {"a": {"type": "string"}}}, ['"a"'], ['"ab"']),
        ({"allOf": [{"type": "integer"}, {"minimum": 3}, {"not": {"const": 5}}]}, ["3", "50"], ["2", "5"]),
        ({"not": {"type": ["string", "number"]}}, ["null", "[]"], ['"a"', "1", "1.5"]),
        ({"type": "string", "not": {"enum": ["a", "ab"]}}, ['""', '"b"', '"abc"'], ['"a"', '"ab"']),
        ({"oneOf": [{"type": "integer"}, {"minimum": 3}]}, ["1", "3.5"], ["3", "10"]),
    ],
)
def test_keywords(schema: Any, yes: list[str], no: list[str]) -> None:
    check(compile_schema(schema), yes, no)


def test_if_then_else() -> None:
    program = compile_schema(
        {
            "type": "object",
            "properties": {"kind": {"enum": ["a", "b"]}, "n": {"type": "integer"}},
            "required": ["kind"],
            "if": {"properties": {"kind": {"const": "a"}}},
            "then": {"required": ["n"]},
            "else": {"properties": {"n": {"maximum": 0}}},
        }
    )
    assert accepted(program, '{"kind": "a", "n": 5}')
    assert accepted(program, '{"kind": "b"}')
    assert accepted(program, '{"kind": "b", "n": 0}')
    assert not accepted(program, '{"kind": "a"}')
    assert not accepted(program, '{"kind": "b", "n": 5}')


@pytest.mark.parametrize(
    ("schema", "yes", "no"),
    [
        ({"properties": {"a": True}}, ['{"a": 1}', "{}"], ["1", "[]", "null"]),
        ({"additionalProperties": {"type": "null"}}, ['{"a": null}'], ["1"]),
        ({"properties": {}, "items": {"type": "null"}}, ["{}"], ["[]"]),
        ({"items": {"type": "null"}}, ["[null]"], ["{}", "1"]),
        ({"prefixItems": [{"type": "null"}]}, ["[null]", "[]"], ['"x"']),
        ({"maxLength": 1}, ['"a"'], ["1", '"ab"']),
        ({"format": "ipv4"}, ['"1.2.3.4"'], ["1"]),
        ({"format": "int32"}, ["1", '"a"'], []),
        ({"additionalProperties": True}, ["1", "{}"], []),
        ({"minimum": 3}, ["3", '"a"'], ["2"]),
        ({"type": ["object", "null"], "properties": {"a": True}}, ["null", '{"a": 1}'], ["1"]),
        ({"anyOf": [{"properties": {"a": {"type": "null"}}}, {"type": "integer"}]}, ['{"a": null}', "1"], ['"x"']),
        ({"allOf": [{"properties": {"a": True}}, {"required": ["a"]}]}, ['{"a": 1}'], ["{}", "1"]),
        ({"not": {"properties": {"a": {"type": "null"}}, "required": ["a"]}}, ["{}"], ['{"a": null}']),
        ({"properties": {"a": True}, "not": {"type": "object"}}, ["1"], ["{}"]),
        ({"enum": [1, "a"], "maxLength": 1}, ["1", '"a"'], ["2"]),
        ({"oneOf": [{"required": ["a"]}, {"pattern": "^x"}]}, ['"y"'], ['{"a": 1}', '"x"', "1"]),
    ],
)
def test_without_a_type_the_keywords_say_what_is_meant(schema: Any, yes: list[str], no: list[str]) -> None:
    check(compile_schema(schema), yes, no)


def test_properties_come_in_order_and_optional_ones_may_be_left_out() -> None:
    program = compile_schema({"properties": {"b": True, "a": True, "c": True}, "required": ["c"], "type": "object"})
    assert accepted(program, '{"b": 1, "a": 2, "c": 3}')
    assert accepted(program, '{"a": 2, "c": 3}')
    assert not accepted(program, '{"a": 2, "b": 1, "c": 3}')
    assert not accepted(program, '{"c": 3, "d": 4}')


@pytest.mark.parametrize(
    ("schema", "path", "keyword"),
    [
        ({"properties": {"a/b": {"type": "strin"}}}, "#/properties/a~1b", "type"),
        ({"$defs": {"n": {"$ref": "#/$defs/n"}}, "$ref": "#/$defs/n"}, "#/$defs/n", "$ref"),
        ({"items": {"$ref": "other.json"}}, "#/items", "$ref"),
        ({"items": {"$ref": "#/$defs/none"}}, "#/items", "$ref"),
        ({"properties": {"a": {"type": "array", "uniqueItems": True}}}, "#/properties/a", "uniqueItems"),
        ({"pattern": "(?=a)b"}, "#", "pattern"),
        ({"pattern": "(a)\\1"}, "#", "pattern"),
        ({"pattern": "a{2,1}"}, "#", "pattern"),
        ({"pattern": "("}, "#", "pattern"),
        ({"not": {"contains": {"type": "null"}}}, "#/not", "contains"),
        ({"if": {"uniqueItems": True}, "then": {"type": "array"}}, "#/if", "uniqueItems"),
        ({"anyOf": []}, "#", "anyOf"),
        ({"required": "a"}, "#", "required"),
        ({"minLength": -1}, "#", "minLength"),
        ({"minimum": "3"}, "#", "minimum"),
        ({"multipleOf": 0, "type": "integer"}, "#", "multipleOf"),
        ({"items": 3}, "#/items", ""),
        ({"properties": []}, "#", "properties"),
        ({"type": "string", "minLength": 6, "maxLength": 1}, "#", ""),
        ({"type": "object", "properties": {"n": {"$ref": "#"}}, "required": ["n"]}, "#", ""),
        (False, "#", ""),
        (3, "#", ""),
    ],
)
def test_what_cannot_be_enforced_is_refused_by_name(schema: Any, path: str, keyword: str) -> None:
    with pytest.raises(SchemaError) as error:
        compile_schema(schema)
    assert (error.value.path, error.value.keyword) == (path, keyword)
    assert path in str(error.value)


def test_schemas_share_a_grammar() -> None:
    rules = Rules()
    converter = Converter(rules)
    names = [
        converter.schema({"type": "object", "properties": {f"p{i}": {"maxLength": 65536}}}, "args") for i in range(40)
    ]
    rules.set("root", " | ".join(f'"tool{i}" {name}' for i, name in enumerate(names)))
    program = compile_grammar(rules.text())
    assert accepted(program, 'tool7{"p7": "x"}')
    assert not accepted(program, 'tool7{"p8": "x"}')


def test_deep_schemas_are_refused_not_crashed() -> None:
    schema: Any = {"type": "null"}
    for _ in range(5000):
        schema = {"type": "array", "items": schema}
    with pytest.raises(SchemaError):
        compile_schema(schema)


def test_the_same_schema_is_compiled_once() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert compile_schema(schema) is compile_schema(json.loads(json.dumps(schema)))


def test_the_values_of_a_long_enum_are_compared_by_key_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with each, ten thousand values took half a minute."""
    written: list[object] = []

    def counted(value: object) -> str:
        written.append(value)
        return same_key(value)

    monkeypatch.setattr(instance, "same_key", counted)
    program = compile_schema({"enum": [f"v{i}" for i in range(300)], "not": {"enum": ["v7", "v8"]}})
    assert accepted(program, '"v299"')
    assert not accepted(program, '"v7"')
    assert len(written) < 10 * 300
