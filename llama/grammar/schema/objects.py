"""Objects as rules: the listed properties in their order, then others where they are allowed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

from llama.grammar.pattern.spelling import json_text
from llama.grammar.schema import keywords
from llama.grammar.schema.location import Location
from llama.grammar.schema.strings import Text, string_expression, text_of

if TYPE_CHECKING:
    from llama.grammar.schema.convert import Converter

Parts = tuple[Location, ...]
MOST_PATTERNS = 4
MOST_RULES = 20_000
OPEN_KEYWORDS = ("additionalProperties", "patternProperties", "unevaluatedProperties")


@dataclass(frozen=True, slots=True)
class Shape:
    """An object: its listed properties (name, expression, required), expressions of others, and bounds of the count."""

    listed: list[tuple[str, str, bool]]
    others: list[str]
    low: int
    high: int | None


@dataclass(slots=True)
class _Members:
    """Writes the rules for what stands between the braces."""

    converter: "Converter"
    shape: Shape
    wish: str
    names: dict[tuple[int, int, bool], str] = field(default_factory=dict)
    pending: list[tuple[int, int, bool]] = field(default_factory=list)

    def rule(self, at: int, count: int, first: bool) -> str:
        """The rule for what may follow once properties before `at` are decided and `count` are written."""
        low, high = self.shape.low, self.shape.high
        count = min(count, low) if high is None else count
        key = (at, count, first)
        if key not in self.names:
            if len(self.names) >= MOST_RULES:
                self.converter.refuse_size(
                    "minProperties and maxProperties over so many properties need too many rules"
                )
            self.names[key] = self.converter.rules.name(f"{self.wish}-{'first' if first else 'rest'}")
            self.pending.append(key)
        return self.names[key]

    def write(self) -> str:
        """Write all rules; returns the name of the first."""
        start = self.rule(0, 0, True)
        while self.pending:
            key = self.pending.pop()
            self.converter.rules.set(self.names[key], self._body(*key))
        return start

    def _body(self, at: int, count: int, first: bool) -> str:
        shape = self.shape
        comma = "" if first else '"," space '
        full = shape.high is not None and count >= shape.high
        if at == len(shape.listed):
            return self._others(count, comma, full)
        name, value, required = shape.listed[at]
        options = []
        if not full:
            options.append(f"{comma}{member_text(name, value)} {self.rule(at + 1, count + 1, False)}")
        if not required:
            options.append(self.rule(at + 1, count, first))
        return " | ".join(options) or "[]"

    def _others(self, count: int, comma: str, full: bool) -> str:
        """Properties that are not listed. Their names could be the same, so towards the least count they make one."""
        low, high = self.shape.low, self.shape.high
        options = ["space" if comma else '""'] if count >= low else []
        if self.shape.others and not full and count + 1 >= low:
            other = self.converter.rules.shared(f"{self.wish}-other", " | ".join(self.shape.others))
            more = f'("," space {other})' + (f"{{0,{high - count - 1}}}" if high is not None else "*")
            options.append(f"{comma}{other} {more} space")
        return " | ".join(options) or "[]"


def member_text(name: str, value: str) -> str:
    """GBNF for one property: its name, a colon, its value."""
    return f'"\\"" {json_text(name)} "\\":" space {value}' if name else f'"\\"\\":" space {value}'


def object_expression(converter: "Converter", parts: Parts, wish: str) -> str:
    """GBNF for the objects that fit all `parts`."""
    shape = _shape(converter, parts, wish)
    if shape is None:
        return converter.rules.base("object")
    converter.rules.base("space")
    if not shape.listed and not shape.others:
        return '"{" space "}"' if shape.low == 0 else "[]"
    start = _Members(converter, shape, wish).write()
    return f'"{{" space {start} "}}"'


def _shape(converter: "Converter", parts: Parts, wish: str) -> Shape | None:
    """None: any object at all."""
    lows = [keywords.count(part, "minProperties") or 0 for part in parts]
    highs = [n for n in (keywords.count(part, "maxProperties") for part in parts) if n is not None]
    required = {name for part in parts for name in keywords.names(part, "required")}
    names = _listed_names(parts)
    if any(name not in names for name in required):
        return Shape([], [], 1, None)  # only a negation asks for it, and it is not to be written
    low, high = max([0, *lows]), min(highs, default=None)
    patterns = [(part, pattern) for part in parts for pattern in keywords.schemas(part, "patternProperties")]
    restricted = patterns or any(key in part.schema for part in parts for key in (*OPEN_KEYWORDS, "propertyNames"))
    if not names and not restricted and low <= 1 and high is None and not _forbidden(parts):
        return None if low == 0 else Shape([], [_any_member(converter)], 1, None)
    listed = _listed(converter, parts, names, required, wish)
    closed = (
        bool(names) and not any(key in part.schema for part in parts for key in OPEN_KEYWORDS) and low <= len(names)
    )
    others = [] if closed else _others(converter, parts, [*names, *_forbidden(parts)], patterns, wish)
    return Shape(listed, others, low, high)


def _any_member(converter: "Converter") -> str:
    return f'{converter.rules.base("string")} ":" space {converter.rules.base("value")}'


def _listed_names(parts: Parts) -> list[str]:
    """The names that may be written, in order: from `properties`, then from `required` alone."""
    listing = [part for part in parts if part.listing]
    found = dict.fromkeys(name for part in listing for name in keywords.schemas(part, "properties"))
    found |= dict.fromkeys(name for part in listing for name in keywords.names(part, "required"))
    return list(found)


def _forbidden(parts: Parts) -> list[str]:
    """Names that only restrict: they are not written of their own accord."""
    return [name for part in parts if not part.listing for name in keywords.schemas(part, "properties")]


def _listed(
    converter: "Converter", parts: Parts, names: Sequence[str], required: set[str], wish: str
) -> list[tuple[str, str, bool]]:
    found = []
    for name in names:
        conditions = _conditions(converter, parts, name)
        fits = all(converter.instances.name_fits(part, name) for part in parts)
        if name in required or (fits and not any(at.schema is False and not at.negated for at in conditions)):
            value = converter.rule(conditions, f"{wish}-{name}") if fits else "[]"
            found.append((name, value, name in required))
    return found


def _conditions(converter: "Converter", parts: Parts, name: str) -> Parts:
    """All that the parts say about the property `name`."""
    found: list[Location] = []
    for part in parts:
        found += converter.instances.property_schemas(part, name)
        if "unevaluatedProperties" in part.schema and not any(
            converter.instances.property_schemas(other, name) for other in parts if _under(other, part)
        ):
            found.append(part.child(part.schema["unevaluatedProperties"], "unevaluatedProperties"))
    return tuple(found)


def _under(other: Location, part: Location) -> bool:
    """True if `other` is `part` or was brought in by it, so that what it evaluates counts for `part`."""
    return other is part or (other.listing and id(part.schema) in other.above)


def _others(
    converter: "Converter", parts: Parts, names: list[str], patterns: list[tuple[Location, str]], wish: str
) -> list[str]:
    """Expressions for properties that are not listed: one for each set of patterns that a name may match."""
    distinct = list(dict.fromkeys(pattern for _, pattern in patterns))
    if len(distinct) > MOST_PATTERNS:
        patterns[0][0].refuse("patternProperties", f"more than {MOST_PATTERNS} patterns are not supported")
    open_to_all = any(key in part.schema for part in parts for key in ("additionalProperties", "unevaluatedProperties"))
    found = []
    for matched in product((True, False), repeat=len(distinct)):
        chosen = {pattern for pattern, yes in zip(distinct, matched, strict=True) if yes}
        if distinct and not chosen and not open_to_all:
            continue  # with patterns alone, names that match none are left out
        conditions = _other_conditions(parts, chosen)
        if any(at.schema is False for at in conditions):
            continue
        value = converter.rule(conditions, f"{wish}-value")
        found += [
            f'{key} ":" space {value}'
            for key in _keys(converter, parts, names, chosen, [p for p in distinct if p not in chosen], wish)
        ]
    return found


def _other_conditions(parts: Parts, chosen: set[str]) -> Parts:
    found: list[Location] = []
    for part in parts:
        own = keywords.schemas(part, "patternProperties")
        matching = [part.child(own[pattern], "patternProperties", pattern) for pattern in own if pattern in chosen]
        found += matching
        if not matching and "additionalProperties" in part.schema:
            keywords.check_schema(part, part.schema["additionalProperties"], "additionalProperties")
            found.append(part.child(part.schema["additionalProperties"], "additionalProperties"))
    for part in parts:
        evaluated = any(
            "additionalProperties" in other.schema or chosen & keywords.schemas(other, "patternProperties").keys()
            for other in parts
            if _under(other, part)
        )
        if "unevaluatedProperties" in part.schema and not evaluated:
            found.append(part.child(part.schema["unevaluatedProperties"], "unevaluatedProperties"))
    return tuple(found)


def _keys(
    converter: "Converter", parts: Parts, names: list[str], chosen: set[str], others: list[str], wish: str
) -> list[str]:
    """Expressions for names that are not in `names`, match all of `chosen`, none of `others`, and fit propertyNames."""
    conditions = tuple(
        part.child(part.schema["propertyNames"], "propertyNames") for part in parts if "propertyNames" in part.schema
    )
    place = next(part for part in parts)
    found = []
    for alternative in converter.alternatives.of(conditions) if conditions else [()]:
        values = converter.values(alternative)
        if values is not None:
            fitting = [
                value
                for value in values
                if isinstance(value, str)
                and value not in names
                and all(converter.instances.found(place, pattern, value, "patternProperties") for pattern in chosen)
                and not any(converter.instances.found(place, pattern, value, "patternProperties") for pattern in others)
            ]
            found += [f'"\\"" {json_text(value)} "\\""' for value in fitting]
            continue
        if not converter.allows_strings(alternative):
            continue
        text: Text = text_of(alternative)
        text.not_in += names
        text.found |= dict.fromkeys(chosen, (place, "patternProperties"))
        text.never |= dict.fromkeys(others, (place, "patternProperties"))
        found.append(string_expression(converter.rules, text, place, f"{wish}-key"))
    return found
