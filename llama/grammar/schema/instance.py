"""Whether a value fits a schema: for the values of `enum` and `const`, and for the names of properties."""

from decimal import Decimal
from typing import Any

from llama.grammar.pattern.ecma import PatternError, parse_pattern
from llama.grammar.pattern.machine import Search
from llama.grammar.schema import keywords
from llama.grammar.schema.formats import format_pattern
from llama.grammar.schema.keywords import NOT_IN, NOT_PATTERN
from llama.grammar.schema.kinds import ARRAY, NUMBER, OBJECT, STRING, kind_of, same_key
from llama.grammar.schema.location import Location
from llama.grammar.schema.negation import IN_PLACE

MOST_NESTED = 200


class Instances:
    """Judges values, without writing any rules."""

    def __init__(self) -> None:
        self._searches: dict[tuple[str, bool], Search] = {}
        self._keys: dict[int, tuple[list[Any], frozenset[str]]] = {}

    def fits(self, at: Location, value: Any, depth: int = 0) -> bool:
        """True if `value` is valid under the schema at `at`."""
        if depth > MOST_NESTED:
            at.refuse("", "its values are nested too deep")
        if isinstance(at.schema, bool):
            return at.schema != at.negated
        return self._holds(at, value, depth + 1) != at.negated

    def found(self, at: Location, pattern: Any, text: str, keyword: str = "pattern") -> bool:
        """True if `pattern` is found in `text`."""
        search = self._search(at, pattern, keyword, whole=False)
        return _run(search, text)

    def _search(self, at: Location, pattern: Any, keyword: str, *, whole: bool) -> Search:
        if not isinstance(pattern, str):
            at.refuse(keyword, f"must be a string, got {pattern!r}")
        if (pattern, whole) not in self._searches:
            try:
                self._searches[pattern, whole] = Search(parse_pattern(pattern), whole=whole)
            except PatternError as error:
                at.refuse(keyword, str(error))
        return self._searches[pattern, whole]

    def _holds(self, at: Location, value: Any, depth: int) -> bool:
        kind = kind_of(value)
        kinds = keywords.kinds(at)
        if kinds is not None and kind not in kinds:
            return False
        values = at.schema.get("enum")
        same = same_key(value)
        if values is not None and same not in self._keys_of(values):
            return False
        if "const" in at.schema and same_key(at.schema["const"]) != same:
            return False
        if NOT_IN in at.schema and same in self._keys_of(at.schema[NOT_IN]):
            return False
        return self._kind_holds(at, kind, value, depth) and self._applicators(at, value, depth)

    def _keys_of(self, values: list[Any]) -> frozenset[str]:
        """The keys of a schema's values, made once: each value of a long `enum` is asked for in that `enum`."""
        if id(values) not in self._keys:
            self._keys[id(values)] = values, frozenset(map(same_key, values))  # kept, so that the id stays theirs
        return self._keys[id(values)][1]

    def _kind_holds(self, at: Location, kind: str, value: Any, depth: int) -> bool:
        if kind in NUMBER:
            return self._number(at, value)
        if kind == STRING:
            return self._string(at, value)
        if kind == ARRAY:
            return self._array(at, value, depth)
        return kind != OBJECT or self._object(at, value, depth)

    def _number(self, at: Location, value: float) -> bool:
        amount = Decimal(repr(value))
        low, high = keywords.number(at, "minimum"), keywords.number(at, "maximum")
        above, below = at.schema.get("exclusiveMinimum"), at.schema.get("exclusiveMaximum")
        if (low is not None and (amount < low or (above is True and amount == low))) or (
            high is not None and (amount > high or (below is True and amount == high))
        ):
            return False
        if (
            above is not None
            and not isinstance(above, bool)
            and amount <= (keywords.number(at, "exclusiveMinimum") or 0)
        ):
            return False
        if (
            below is not None
            and not isinstance(below, bool)
            and amount >= (keywords.number(at, "exclusiveMaximum") or 0)
        ):
            return False
        step = keywords.number(at, "multipleOf")
        return step is None or step == 0 or amount % step == 0

    def _string(self, at: Location, value: str) -> bool:
        low, high = keywords.count(at, "minLength"), keywords.count(at, "maxLength")
        if len(value) < (low or 0) or (high is not None and len(value) > high):
            return False
        if "pattern" in at.schema and not self.found(at, at.schema["pattern"], value):
            return False
        if any(self.found(at, pattern, value) for pattern in at.schema.get(NOT_PATTERN, [])):
            return False
        named = format_pattern(at.schema.get("format"))
        return named is None or _run(self._search(at, named, "format", whole=True), value)

    def _array(self, at: Location, value: list[Any], depth: int) -> bool:
        if not _within(at, len(value), "minItems", "maxItems"):
            return False
        if at.schema.get("uniqueItems") is True and len(set(map(same_key, value))) < len(value):
            return False
        first, rest = item_schemas(at)
        for i, item in enumerate(value):
            if not self.fits(first[i] if i < len(first) else rest, item, depth):
                return False
        if "contains" in at.schema:
            inner = at.child(at.schema["contains"], "contains")
            n = sum(self.fits(inner, item, depth) for item in value)
            low, high = keywords.count(at, "minContains"), keywords.count(at, "maxContains")
            return (1 if low is None else low) <= n and (high is None or n <= high)
        return True

    def _object(self, at: Location, value: dict[str, Any], depth: int) -> bool:
        if not _within(at, len(value), "minProperties", "maxProperties"):
            return False
        if any(name not in value for name in keywords.names(at, "required")):
            return False
        return all(
            all(self.fits(below, item, depth) for below in self.property_schemas(at, name))
            and self.name_fits(at, name, depth)
            for name, item in value.items()
        )

    def name_fits(self, at: Location, name: str, depth: int = 0) -> bool:
        """True if `propertyNames` lets a property be called `name`."""
        return "propertyNames" not in at.schema or self.fits(
            at.child(at.schema["propertyNames"], "propertyNames"), name, depth + 1
        )

    def property_schemas(self, at: Location, name: str) -> list[Location]:
        """What this one schema says about the property `name`."""
        properties = keywords.schemas(at, "properties")
        found = [at.child(properties[name], "properties", name)] if name in properties else []
        for pattern, schema in keywords.schemas(at, "patternProperties").items():
            if self.found(at, pattern, name, "patternProperties"):
                found.append(at.child(schema, "patternProperties", pattern))
        if not found and "additionalProperties" in at.schema:
            found.append(at.child(at.schema["additionalProperties"], "additionalProperties"))
        return found

    def _applicators(self, at: Location, value: Any, depth: int) -> bool:
        def fits(schema: Any, *steps: object) -> bool:
            return self.fits(at.child(schema, *steps), value, depth)

        schema = at.schema
        for keyword in IN_PLACE:
            if keyword in schema:
                below = at.referred(keyword)
                if not self.fits(below.child(below.schema), value, depth):
                    return False
        if not all(fits(member, "allOf", i) for i, member in enumerate(schema.get("allOf", []))):
            return False
        if "anyOf" in schema and not any(fits(member, "anyOf", i) for i, member in enumerate(schema["anyOf"])):
            return False
        if "oneOf" in schema and sum(fits(member, "oneOf", i) for i, member in enumerate(schema["oneOf"])) != 1:
            return False
        if "not" in schema and fits(schema["not"], "not"):
            return False
        if "if" in schema:
            branch = "then" if fits(schema["if"], "if") else "else"
            return fits(schema.get(branch, True), branch)
        return True


def item_schemas(at: Location) -> tuple[list[Location], Location]:
    """What this schema says about the first items, one by one, and about the rest."""
    listed, items = at.schema.get("prefixItems"), at.schema.get("items", True)
    keyword, rest = "prefixItems", items
    if isinstance(items, list):  # how drafts before 2020-12 write a tuple
        keyword, listed, rest = "items", items, at.schema.get("additionalItems", True)
    first = [at.child(schema, keyword, i) for i, schema in enumerate(listed or [])]
    return first, at.child(rest, "items")


def _within(at: Location, n: int, least: str, most: str) -> bool:
    low, high = keywords.count(at, least), keywords.count(at, most)
    return (low or 0) <= n and (high is None or n <= high)


def _run(search: Search, text: str) -> bool:
    state = search.start
    for character in text:
        following = search.step(state, ord(character))
        if following is None:
            return False
        state = following
    return search.accepts(state)
