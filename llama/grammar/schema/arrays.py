"""Arrays as rules: the first items one by one, then the rest, counted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llama.grammar.pattern.rules import count_text
from llama.grammar.schema import keywords
from llama.grammar.schema.instance import item_schemas
from llama.grammar.schema.location import Location

if TYPE_CHECKING:
    from llama.grammar.schema.convert import Converter

Parts = tuple[Location, ...]
MOST_UNIQUE = 8
MOST_STATES = 4000


@dataclass(frozen=True, slots=True)
class _Items:
    """An array: conditions of the first items, of the rest, and bounds of their number."""

    first: list[Parts]
    rest: Parts
    low: int
    high: int | None

    def at(self, i: int) -> Parts:
        return self.first[i] if i < len(self.first) else self.rest


def array_expression(converter: "Converter", parts: Parts, wish: str) -> str:
    """GBNF for the arrays that fit all `parts`."""
    items = _items(parts)
    unique = next((part for part in parts if part.schema.get("uniqueItems") is True), None)
    contains = [part for part in parts if "contains" in part.schema and _least(part) + _has_most(part) > 0]
    converter.rules.base("space")
    if items.high is not None and items.high < items.low:
        return "[]"
    if unique is not None and (items.high is None or items.high > 1):
        return _unique(converter, items, unique, contains, wish)
    if contains:
        return _containing(converter, items, contains, wish)
    if not items.first and not items.rest and items.low == 0 and items.high is None:
        return converter.rules.base("array")
    return _plain(converter, items, wish)


def _items(parts: Parts) -> _Items:
    schemas = [item_schemas(part) for part in parts]
    n = max((len(first) for first, _ in schemas), default=0)
    conditions = [[listed[i] if i < len(listed) else rest for listed, rest in schemas] for i in range(n + 1)]
    for part in parts:
        if "unevaluatedItems" in part.schema:
            unevaluated = part.child(part.schema["unevaluatedItems"], "unevaluatedItems")
            for i in range(_n_evaluated(parts, part, n), n + 1):
                conditions[i].append(unevaluated)
    first = [tuple(at for at in listed if at.schema is not True) for listed in conditions]
    low = max([0, *(keywords.count(part, "minItems") or 0 for part in parts)])
    highs = [n for n in (keywords.count(part, "maxItems") for part in parts) if n is not None]
    highs += [i for i, listed in enumerate(first) if any(at.schema is False for at in listed)]
    return _Items(first[:n], first[n], low, min(highs, default=None))


def _n_evaluated(parts: Parts, part: Location, n: int) -> int:
    """How many of the first items other keywords under `part` speak of; n + 1: of all items."""
    under = [other for other in parts if other is part or (other.listing and id(part.schema) in other.above)]
    if any("contains" in other.schema for other in under):
        part.refuse("unevaluatedItems", "is not supported beside contains")
    for other in under:
        all_items = "additionalItems" if isinstance(other.schema.get("items"), list) else "items"
        if all_items in other.schema or (other is not part and "unevaluatedItems" in other.schema):
            return n + 1
    return max(len(item_schemas(other)[0]) for other in under)


def _plain(converter: "Converter", items: _Items, wish: str) -> str:
    """`[`, the items with commas, `]`. What follows item i is a rule of its own, so that arrays may be cut short."""
    n = len(items.first) if items.high is None else min(len(items.first), items.high)
    more = _rest(converter, items, n, wish)
    for i in reversed(range(n)):
        item = converter.rule(items.at(i), f"{wish}-{i}")
        comma = '"," space ' if i else ""
        body = f"{comma}{item} {more}".rstrip()
        end = "" if i else '""'
        if i >= items.low:
            body += f" | {end or chr(34) * 2}"
        more = converter.rules.add(f"{wish}-items", body)
    return f'"[" space {_closed(more, items)}'


def _closed(more: str, items: _Items) -> str:
    """The end of an array: blanks before `]` only if there are items."""
    return f'({more} space)? "]"' if items.low == 0 else f'{more} space "]"'


def _rest(converter: "Converter", items: _Items, n: int, wish: str) -> str:
    """The items from the n-th on, the first n being there."""
    if items.high is not None and items.high <= n:
        return ""
    item = converter.rule(items.rest, f"{wish}-item")
    low, high = max(0, items.low - n), None if items.high is None else items.high - n
    if n:
        return f'("," space {item})' + count_text(low, high)
    return f'{item} ("," space {item})' + count_text(max(0, low - 1), None if high is None else high - 1)


def _least(part: Location) -> int:
    least = keywords.count(part, "minContains")
    return 1 if least is None else least


def _has_most(part: Location) -> int:
    return int("maxContains" in part.schema)


def _containing(converter: "Converter", items: _Items, contains: list[Location], wish: str) -> str:
    """Arrays with so many items of a kind: states are (items written, items of that kind)."""
    if len(contains) > 1:
        contains[1].refuse("contains", "only one `contains` is supported at a time")
    part = contains[0]
    keywords.check_schema(part, part.schema["contains"], "contains")
    least, most = _least(part), keywords.count(part, "maxContains")
    wanted = part.child(part.schema["contains"], "contains")
    unwanted = Location(wanted.schema, wanted.path, wanted.resolver, negated=True, listing=False)
    enough = max(items.low, len(items.first)) if items.high is None else items.high
    if (enough + 1) * ((least if most is None else most) + 1) > MOST_STATES:
        part.refuse("contains", "together with these minItems and maxItems it needs too many rules")

    def steps(state: tuple[int, int]) -> list[tuple[Parts, tuple[int, int]]]:
        n, held = state
        if items.high is not None and n >= items.high:
            return []
        following = n + 1 if items.high is not None else min(n + 1, enough)
        both = (*items.at(n), wanted)
        if most is None:
            return [(both, (following, min(held + 1, least))), (items.at(n), (following, held))]
        plain = (*items.at(n), unwanted)
        return [*([(both, (following, held + 1))] if held < most else []), (plain, (following, held))]

    return _machine(converter, wish, (0, 0), steps, lambda state: state[0] >= items.low and state[1] >= least)


def _unique(converter: "Converter", items: _Items, unique: Location, contains: list[Location], wish: str) -> str:
    """Arrays of distinct items, where there are few values to choose from: states are the sets of used values."""
    values = None if items.first or contains else converter.finite(items.rest)
    if values is None or len(values) > MOST_UNIQUE:
        unique.refuse("uniqueItems", f"is only supported for items that are one of at most {MOST_UNIQUE} values (enum)")
    literals = [converter.literal(value) for value in values]

    def steps(used: int) -> list[tuple[str, int]]:
        if items.high is not None and used.bit_count() >= items.high:
            return []
        return [(text, used | 1 << i) for i, text in enumerate(literals) if not used >> i & 1]

    return _machine(converter, wish, 0, steps, lambda used: used.bit_count() >= items.low)


def _machine(
    converter: "Converter",
    wish: str,
    start: Any,
    steps: Callable[[Any], Sequence[tuple[Parts | str, Any]]],
    final: Callable[[Any], bool],
) -> str:
    """An array written by a machine over its items; the blanks before `]` are written by the states that may end."""
    names = {start: converter.rules.name(f"{wish}-items")}
    pending = [start]
    while pending:
        state = pending.pop()
        options = []
        for item, target in steps(state):
            if target not in names or (target == start and state == start):
                names.setdefault(target, converter.rules.name(f"{wish}-items"))
                if target != start:
                    pending.append(target)
            text = item if isinstance(item, str) else converter.rule(item, f"{wish}-item")
            options.append((text, names[target]))
        end = ["space"] if final(state) else []
        body = " | ".join([*(f'"," space {text} {name}' for text, name in options), *end]) or "[]"
        converter.rules.set(names[state], body)
        if state == start:
            opening = [*(f"{text} {name}" for text, name in options), *(['""'] if final(state) else [])]
            first = converter.rules.add(f"{wish}-items", " | ".join(opening) or "[]")
    return f'"[" space {first} "]"'
