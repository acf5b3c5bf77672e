"""A JSON Schema as GBNF."""

import json
from functools import lru_cache
from typing import Any, NoReturn

from llama.errors import GrammarError, SchemaError
from llama.grammar.pattern.spelling import json_text, quoted
from llama.grammar.program import Program, compile_grammar
from llama.grammar.schema import keywords
from llama.grammar.schema.alternatives import Alternatives
from llama.grammar.schema.arrays import array_expression
from llama.grammar.schema.disjoint import own_values
from llama.grammar.schema.formats import format_pattern
from llama.grammar.schema.instance import Instances
from llama.grammar.schema.keywords import NOT_IN
from llama.grammar.schema.kinds import (
    ALL_KINDS,
    ARRAY,
    BOOLEAN,
    NULL,
    NUMBER,
    OBJECT,
    STRING,
    kind_of,
    same_key,
    unique,
)
from llama.grammar.schema.location import Location, root_location
from llama.grammar.schema.numbers import bounds_of, number_expression
from llama.grammar.schema.objects import object_expression
from llama.grammar.schema.rules import Rules
from llama.grammar.schema.strings import string_expression, text_of

Parts = tuple[Location, ...]
MOST_DEEP = 150
MOST_VALUES = 64


class Converter:
    """Writes the rules of one or more schemas into `rules`."""

    def __init__(self, rules: Rules | None = None) -> None:
        self.rules = Rules() if rules is None else rules
        self.alternatives = Alternatives()
        self.instances = Instances()
        self._known: dict[tuple[tuple[int, bool, bool], ...], str] = {}
        self._kept: list[Any] = []
        self._depth = 0
        self._root: Location | None = None

    def schema(self, schema: Any, wish: str = "root") -> str:
        """Write the rules for `schema`; returns the name of the first. Raises SchemaError."""
        self._kept.append(schema)  # rules are known by the identity of schemas, so these must stay
        self._root = root_location(schema)
        keywords.check_schema(self._root, schema)
        return self.rule((self._root,), wish)

    def refuse_size(self, reason: str) -> NoReturn:
        """Raise a SchemaError about the schema as a whole."""
        assert self._root is not None
        self._root.refuse("", reason)

    def rule(self, conditions: Parts, wish: str) -> str:
        """The name of the rule for values that fit all `conditions`."""
        distinct = {at.key: at for at in conditions if not (at.schema is True and not at.negated)}
        key = tuple(distinct)
        if not key:
            return self.rules.base("value")
        if key not in self._known:
            self._known[key] = self.rules.name(wish)
            self._depth += 1
            if self._depth > MOST_DEEP:
                next(iter(distinct.values())).refuse("", f"schemas are nested more than {MOST_DEEP} deep")
            alternatives = self.alternatives.of(tuple(distinct.values()))
            meant = [(parts, meant_kinds(parts, self.kinds(parts))) for parts in alternatives]
            if not any(kinds for _, kinds in meant):  # it forbids what its keywords speak of
                meant = [(parts, self.kinds(parts)) for parts in alternatives]
            options = [option for parts, kinds in meant for option in self._one(parts, kinds, wish)]
            self._depth -= 1
            self.rules.set(self._known[key], " | ".join(dict.fromkeys(options)) or "[]")
        return self._known[key]

    def _one(self, parts: Parts, kinds: frozenset[str], wish: str) -> list[str]:
        """Expressions for the values that fit one alternative and are of one of these kinds."""
        values = self.values(parts)
        if values is not None:
            return [self.literal(value) for value in values]
        if kinds == ALL_KINDS and not any(part.schema.keys() - REMARKS for part in parts):
            return [self.rules.base("value")]
        options = []
        if OBJECT in kinds:
            self._refuse_excluded(parts, OBJECT)
            options.append(object_expression(self, parts, wish))
        if ARRAY in kinds:
            self._refuse_excluded(parts, ARRAY)
            options.append(array_expression(self, parts, wish))
        if STRING in kinds:
            options.append(string_expression(self.rules, text_of(parts), parts[0] if parts else self._top(), wish))
        if NUMBER & kinds:
            options.append(number_expression(self.rules, kinds & NUMBER, bounds_of(parts), wish))
        options += [self.literal(value) for value in self._words(parts, kinds)]
        return options

    def _top(self) -> Location:
        assert self._root is not None
        return self._root

    def _words(self, parts: Parts, kinds: frozenset[str]) -> list[Any]:
        """Those of true, false and null that fit."""
        candidates: list[Any] = [True, False] if BOOLEAN in kinds else []
        candidates += [None] if NULL in kinds else []
        excluded = {same_key(value) for part in parts for value in part.schema.get(NOT_IN, [])}
        return [value for value in candidates if same_key(value) not in excluded]

    def _refuse_excluded(self, parts: Parts, kind: str) -> None:
        """Arrays and objects cannot be excluded one by one."""
        for part in parts:
            if any(kind_of(value) == kind for value in part.schema.get(NOT_IN, [])):
                part.refuse("", f"a value of kind {kind} cannot be excluded in a grammar")

    def kinds(self, parts: Parts) -> frozenset[str]:
        """The kinds that all parts allow."""
        found = ALL_KINDS
        for part in parts:
            found &= keywords.kinds(part) or ALL_KINDS
        return found

    def allows_strings(self, parts: Parts) -> bool:
        """True if a string may fit all parts."""
        return STRING in self.kinds(parts)

    def values(self, parts: Parts) -> list[Any] | None:
        """The values that fit, where `enum` or `const` list them; None if they do not."""
        listed = next((values for values in map(own_values, parts) if values is not None), None)
        if listed is None:
            return None
        return unique(value for value in listed if all(self.instances.fits(part, value) for part in parts))

    def finite(self, conditions: Parts) -> list[Any] | None:
        """All values that fit `conditions`, if they are few; None if they are not."""
        found: list[Any] = []
        for parts in self.alternatives.of(conditions):
            values = self.values(parts)
            kinds = self.kinds(parts)
            if values is None and not kinds <= {BOOLEAN, NULL}:
                return None
            found += self._words(parts, kinds) if values is None else values
        return unique(found) if len(found) <= MOST_VALUES else None

    def literal(self, value: Any) -> str:
        """GBNF for exactly this value, with blanks where JSON may have them."""
        if isinstance(value, str):
            return f'"\\"" {json_text(value)} "\\""' if value else '"\\"\\""'
        if isinstance(value, list | dict):
            space = self.rules.base("space")
            if isinstance(value, list):
                opening, closing, inside = "[", "]", [self.literal(item) for item in value]
            else:
                opening, closing = "{", "}"
                inside = [f'{self.literal(name)} ":" {space} {self.literal(item)}' for name, item in value.items()]
            if not inside:
                return f'"{opening}" {space} "{closing}"'
            return f'"{opening}" {space} {f" {chr(34)},{chr(34)} {space} ".join(inside)} {space} "{closing}"'
        return quoted(json.dumps(value))


def meant_kinds(parts: Parts, kinds: frozenset[str]) -> frozenset[str]:
    """Of the kinds that all parts allow, the one that is meant where no part names a `type`.

    By JSON Schema `properties` alone allows a number, too; whoever writes it wants an object, and llama-server reads it
    so: `properties` ask for an object, `items` for an array, `pattern` for a string, in this order. What is written is
    valid in either reading.
    """
    if any("type" in part.schema for part in parts if part.listing) or any(
        own_values(part) is not None for part in parts
    ):
        return kinds
    told = {
        keyword for part in parts if part.listing for keyword, value in part.schema.items() if _tells(keyword, value)
    }
    return next((kinds & {kind} for kind, telling in MEANT.items() if told & telling), kinds)


def _tells(keyword: str, value: Any) -> bool:
    """False for a keyword that is there and asks for nothing."""
    if keyword == "format":
        return format_pattern(value) is not None
    return keyword != "additionalProperties" or value is not True


MEANT = {
    OBJECT: {"properties", "additionalProperties"},
    ARRAY: {"items", "prefixItems"},
    STRING: {"pattern", "minLength", "maxLength", "format"},
}

REMARKS = frozenset(
    {
        "title",
        "description",
        "default",
        "examples",
        "$comment",
        "$schema",
        "$id",
        "$defs",
        "definitions",
        "deprecated",
        "readOnly",
        "writeOnly",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "$ref",
        "$anchor",
    }
)
"""Keywords that leave any value possible once the applicators among them are expanded."""


def schema_to_gbnf(schema: Any) -> str:
    """GBNF for the JSON texts that are valid under `schema`; an empty `{}` stands for any object.

    Raises SchemaError with path and keyword for what cannot be enforced: nothing is ever left out in silence. Objects
    with `properties` and without a word on others get none but those; properties come in the schema's order. Without a
    `type`, `properties` ask for an object, `items` for an array, `pattern` for a string (see `meant_kinds`). Some
    formats beside a large `maxLength` get fewer texts than they might (see within.py), never others.
    """
    converter = Converter()
    if schema == {} and isinstance(schema, dict):
        schema = {"type": "object"}
    first = converter.schema(schema)
    text = converter.rules.text()
    return text if first == "root" else f"root ::= {first}\n{text}"


@lru_cache(maxsize=64)
def _compiled(text: str) -> Program:
    try:
        return compile_grammar(schema_to_gbnf(json.loads(text)))
    except GrammarError as error:
        if "no finite" not in str(error):
            raise
        raise SchemaError("JSON schema error at #: no value of finite length can satisfy it", "#", "") from None


def compile_schema(schema: Any) -> Program:
    """The program of a JSON Schema, cached by its text. Raises SchemaError with path and keyword."""
    try:
        text = json.dumps(schema)
    except (TypeError, ValueError, RecursionError):
        raise SchemaError("JSON schema error at #: this is not JSON, or nested too deep", "#", "") from None
    return _compiled(text)
