"""A schema without its applicators: alternatives, each a list of plain parts that must all hold.

allOf and $ref add parts; anyOf, oneOf, if, dependent* and not make alternatives.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from llama.errors import SchemaError
from llama.grammar.schema import keywords
from llama.grammar.schema.disjoint import Disjoint
from llama.grammar.schema.kinds import ALL_KINDS
from llama.grammar.schema.location import Location
from llama.grammar.schema.negation import IN_PLACE, Negation, Option

Parts = tuple[Location, ...]

MOST_ALTERNATIVES = 2000


@dataclass(frozen=True, slots=True)
class _Way:
    """An alternative that is being worked out."""

    pending: Parts
    parts: Parts = ()
    choices: tuple[list[Option], ...] = ()
    seen: frozenset[tuple[int, bool, bool]] = frozenset()
    kinds: frozenset[str] = field(default=ALL_KINDS)


class Alternatives:
    """Expands schemas of one document."""

    def __init__(self) -> None:
        self._negation = Negation()
        self._disjoint = Disjoint(self.of)
        self._kept: list[Any] = []

    def of(self, conditions: Parts) -> list[Parts]:
        """The alternatives of all `conditions` together; none at all if they contradict each other plainly."""
        done: list[Parts] = []
        ways = [_Way(conditions)]
        n = 0
        while ways:
            way = ways.pop()
            n += 1
            if n > 20 * MOST_ALTERNATIVES or len(done) > MOST_ALTERNATIVES:
                conditions[0].refuse("", "its anyOf, oneOf, if and not combine in too many ways")
            if way.pending:
                ways += self._one_more(way)
            elif way.choices:
                ways += [replace(way, pending=option, choices=way.choices[1:]) for option in reversed(way.choices[0])]
            else:
                done.append(way.parts)
        return done

    def _one_more(self, way: _Way) -> list[_Way]:
        at, pending = way.pending[0], way.pending[1:]
        if isinstance(at.schema, bool):
            return [replace(way, pending=pending)] if at.schema != at.negated else []
        if not isinstance(at.schema, dict):
            at.refuse("", f"a schema must be an object or a boolean, got {at.schema!r}")
        if id(at.schema) in at.above:
            at.refuse("$ref", "refers to itself, with no property or item in between")
        if at.key in way.seen:
            return [replace(way, pending=pending)]
        seen = way.seen | {at.key}
        if at.negated:
            options = self._negation.options(at)
            return [replace(way, pending=pending, choices=(*way.choices, options), seen=seen)]
        kinds = way.kinds & (keywords.kinds(at) or ALL_KINDS)
        if not kinds:
            return []
        return [_Way((*self._also(at), *pending), (*way.parts, at), (*way.choices, *self._choices(at)), seen, kinds)]

    def _also(self, at: Location) -> Iterable[Location]:
        """Schemas that hold beside this one."""
        for keyword in IN_PLACE:
            if keyword in at.schema:
                yield at.referred(keyword)
        for i, schema in enumerate(keywords.schema_list(at, "allOf", may_be_empty=True)):
            yield at.beside(schema, "allOf", i)
        if "not" in at.schema:
            keywords.check_schema(at, at.schema["not"], "not")
            yield at.beside(at.schema["not"], "not", negated=True, listing=False)

    def _choices(self, at: Location) -> Iterable[list[Option]]:
        if "anyOf" in at.schema:
            members = keywords.schema_list(at, "anyOf")
            yield [(at.beside(schema, "anyOf", i),) for i, schema in enumerate(members)]
        if "oneOf" in at.schema:
            yield self._one_of(at)
        if "if" in at.schema and ("then" in at.schema or "else" in at.schema):
            yield self._if(at)
        for keyword in ("dependentRequired", "dependentSchemas", "dependencies"):
            for name, value in (keywords_of(at, keyword)).items():
                yield self._depending(at, keyword, name, value)

    def _one_of(self, at: Location) -> list[Option]:
        """Each member, with the negation of those that could hold at the same time."""
        members = [at.beside(schema, "oneOf", i) for i, schema in enumerate(keywords.schema_list(at, "oneOf"))]
        options: list[Option] = []
        for member in members:
            others = [
                replace(other, negated=True, listing=False)
                for other in members
                if other is not member and not self._disjoint.surely(at, member, other)
            ]
            try:
                options.append((member, *others))
                for other in others:
                    self._negation.options(other)
            except SchemaError as error:
                at.refuse("oneOf", f"its members may hold at the same time, and that cannot be excluded: {error}")
        return options

    def _if(self, at: Location) -> list[Option]:
        for keyword in ("if", "then", "else"):
            keywords.check_schema(at, at.schema.get(keyword, True), keyword)
        condition = at.beside(at.schema["if"], "if")
        then = at.beside(at.schema.get("then", True), "then")
        otherwise = at.beside(at.schema.get("else", True), "else")
        return [(replace(condition, listing=False), then), (replace(condition, negated=True, listing=False), otherwise)]

    def _depending(self, at: Location, keyword: str, name: str, value: Any) -> list[Option]:
        """Without the property `name`; or with it, and what depends on it."""
        without = {"type": "object", "properties": {name: False}}
        no_object = {"not": {"type": "object"}}
        required = {"required": [name]}
        if isinstance(value, list):
            required = {"required": [name, *keywords.strings(at, keyword, value)]}
        self._kept += [without, required, no_object]
        present: Option = (at.beside(required, keyword, name),)
        if not isinstance(value, list):
            keywords.check_schema(at, value, keyword, name)
            present = (*present, at.beside(value, keyword, name))
        absent = at.beside(without, keyword, name, listing=False)
        return [(at.beside(no_object, keyword, name),), (absent,), present]


def keywords_of(at: Location, keyword: str) -> dict[str, Any]:
    """A keyword that maps property names to something."""
    value = at.schema.get(keyword, {})
    if not isinstance(value, dict):
        at.refuse(keyword, f"must be an object, got {value!r}")
    return value
