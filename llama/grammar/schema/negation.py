"""What a schema's negation allows, as schemas again.

A schema fails when one of its keywords fails, so the negation is a list of options. An option that cannot be said in a
schema is left out: the grammar then allows less than it could, never more. If none remains, the negation is refused.
"""

from collections.abc import Callable, Iterable
from typing import Any

from llama.errors import SchemaError
from llama.grammar.schema import keywords
from llama.grammar.schema.keywords import NOT_IN, NOT_PATTERN
from llama.grammar.schema.kinds import ALL_KINDS, FRACTION, INTEGER
from llama.grammar.schema.location import Location

Option = tuple[Location, ...]

OPPOSITES = {
    "minimum": "exclusiveMaximum",
    "maximum": "exclusiveMinimum",
    "exclusiveMinimum": "maximum",
    "exclusiveMaximum": "minimum",
}
COUNTS = {
    "minLength": ("string", "maxLength", -1),
    "maxLength": ("string", "minLength", 1),
    "minItems": ("array", "maxItems", -1),
    "maxItems": ("array", "minItems", 1),
    "minProperties": ("object", "maxProperties", -1),
    "maxProperties": ("object", "minProperties", 1),
}
IN_PLACE = ("$ref", "$dynamicRef", "$recursiveRef")
SILENT = frozenset(
    {"title", "description", "default", "examples", "$comment", "$schema", "$id", "$defs", "definitions"}
)


class Negation:
    """Negates schemas. Made-up schemas are kept, so that they stay the same objects."""

    def __init__(self) -> None:
        self._options: dict[tuple[int, bool], list[Option]] = {}
        self._kept: list[Any] = []

    def options(self, at: Location) -> list[Option]:
        """The ways in which `at` (negated) may fail. Raises SchemaError when none can be said."""
        if at.schema is True:
            return []
        if at.schema is False:
            return [()]
        same = (id(at.schema), at.listing)
        if same not in self._options:
            self._options[same] = []  # met again inside of itself: nothing more to add
            self._options[same] = self._found(at)
        return self._options[same]

    def _found(self, at: Location) -> list[Option]:
        found: list[Option] = []
        unsaid = ""
        for keyword in at.schema:
            options = self._failures(at, keyword)
            if options is None:
                unsaid = unsaid or ("" if keyword in SILENT or keyword in ("then", "else") else keyword)
            else:
                found += options
        if not found and unsaid:
            at.refuse(unsaid, "cannot be negated (by `not`, `if` or an overlapping `oneOf`) in a grammar")
        return found

    def _failures(self, at: Location, keyword: str) -> list[Option] | None:
        value = at.schema[keyword]
        if keyword in OPPOSITES and not isinstance(value, bool):
            return [self._made(at, {"type": "number", OPPOSITES[keyword]: value}, keyword)]
        if keyword in COUNTS:
            kind, opposite, change = COUNTS[keyword]
            limit = (keywords.count(at, keyword) or 0) + change
            return [self._made(at, {"type": kind, opposite: limit}, keyword)] if limit >= 0 else []
        method: Callable[[Location], list[Option] | None] | None = {
            "type": self._type,
            "const": self._values,
            "enum": self._values,
            "pattern": self._pattern,
            "required": self._required,
            "properties": self._properties,
            "allOf": self._all_of,
            "anyOf": self._any_of,
            "oneOf": self._any_of,
            "not": self._not,
        }.get(keyword)
        if method is not None:
            return method(at)
        return [(at.referred(keyword),)] if keyword in IN_PLACE else None

    def _made(self, at: Location, schema: dict[str, Any], keyword: str) -> Option:
        self._kept.append(schema)
        return (at.beside(schema, keyword, negated=False, listing=False),)

    def _type(self, at: Location) -> list[Option]:
        kinds = ALL_KINDS - (keywords.kinds(at) or ALL_KINDS)
        named = sorted(kinds - {FRACTION}) + ([FRACTION] if FRACTION in kinds else [])
        if {INTEGER, FRACTION} <= kinds:
            named = [*(kind for kind in named if kind not in (INTEGER, FRACTION)), "number"]
        return [self._made(at, {"type": named}, "type")] if named else []

    def _values(self, at: Location) -> list[Option]:
        keyword = "const" if "const" in at.schema else "enum"
        values = [at.schema["const"]] if keyword == "const" else at.schema["enum"]
        return [self._made(at, {NOT_IN: values}, keyword)]

    def _pattern(self, at: Location) -> list[Option]:
        return [self._made(at, {"type": "string", NOT_PATTERN: [at.schema["pattern"]]}, "pattern")]

    def _required(self, at: Location) -> list[Option]:
        return [
            self._made(at, {"type": "object", "properties": {name: False}}, "required")
            for name in keywords.names(at, "required")
        ]

    def _properties(self, at: Location) -> list[Option] | None:
        found: list[Option] = []
        for name, schema in keywords.schemas(at, "properties").items():
            below = at.beside(schema, "properties", name, negated=True)
            if self._can_fail(below):
                opposite = {"type": "object", "required": [name], "properties": {name: {"not": schema}}}
                found.append(self._made(at, opposite, "properties"))
        return found if found or not at.schema["properties"] else None

    def _can_fail(self, at: Location) -> bool:
        try:
            return bool(self.options(at))
        except SchemaError:
            return False

    def _all_of(self, at: Location) -> list[Option]:
        return [(member,) for member in self._members(at, "allOf")]

    def _any_of(self, at: Location) -> list[Option]:
        """None of the members holds; for `oneOf` that two of them hold is left out."""
        return [tuple(self._members(at, "anyOf" if "anyOf" in at.schema else "oneOf"))]

    def _members(self, at: Location, keyword: str) -> Iterable[Location]:
        return [at.beside(schema, keyword, i) for i, schema in enumerate(keywords.schema_list(at, keyword))]

    def _not(self, at: Location) -> list[Option]:
        return [(at.beside(at.schema["not"], "not", negated=False, listing=False),)]
