"""Whether two schemas surely have no value in common. When in doubt: not."""

from collections.abc import Callable
from typing import Any

from llama.grammar.schema import keywords
from llama.grammar.schema.kinds import ALL_KINDS, OBJECT, kind_of, same_key
from llama.grammar.schema.location import Location

Parts = tuple[Location, ...]
DEEPEST = 3


class Disjoint:
    """Compares schemas through their alternatives."""

    def __init__(self, alternatives: Callable[[Parts], list[Parts]]) -> None:
        self._alternatives = alternatives

    def surely(self, base: Location, one: Location, other: Location) -> bool:
        """True if no value fits both `one` and `other`, given what `base` says beside them."""
        kinds = keywords.kinds(base) or ALL_KINDS
        return self._apart((one,), (other,), kinds, 0)

    def _apart(self, one: Parts, other: Parts, kinds: frozenset[str], depth: int) -> bool:
        if depth > DEEPEST:
            return False
        others = self._alternatives(other)
        return all(self._parts_apart(a, b, kinds, depth) for a in self._alternatives(one) for b in others)

    def _parts_apart(self, one: Parts, other: Parts, kinds: frozenset[str], depth: int) -> bool:
        common = kinds & _kinds(one) & _kinds(other)
        if not common:
            return True
        values, other_values = _values(one), _values(other)
        if values is not None and other_values is not None:
            return not values & other_values
        return common == {OBJECT} and self._property_apart(one, other, depth)

    def _property_apart(self, one: Parts, other: Parts, depth: int) -> bool:
        """Some property tells them apart: required by one, and impossible or different in the other."""
        here, there = _required(one), _required(other)
        for name in here | there:
            mine, theirs = _property(one, name), _property(other, name)
            if name in here and name in there:
                if mine and theirs and self._apart(mine, theirs, ALL_KINDS, depth + 1):
                    return True
            elif any(at.schema is False for at in (theirs if name in here else mine)):
                return True
        return False


def _kinds(parts: Parts) -> frozenset[str]:
    found = ALL_KINDS
    for part in parts:
        found &= keywords.kinds(part) or ALL_KINDS
        values = own_values(part)
        if values is not None:
            found &= {kind_of(value) for value in values}
    return found


def own_values(part: Location) -> list[Any] | None:
    """The values that `const` or `enum` of this part allow; None without them."""
    found = part.schema.get("enum")
    if found is not None and not isinstance(found, list):
        part.refuse("enum", f"must be a list, got {found!r}")
    if "const" in part.schema:
        constant = part.schema["const"]
        return [constant] if found is None or same_key(constant) in map(same_key, found) else []
    return found


def _values(parts: Parts) -> set[str] | None:
    sets = [set(map(same_key, values)) for values in map(own_values, parts) if values is not None]
    return set.intersection(*sets) if sets else None


def _required(parts: Parts) -> set[str]:
    return {name for part in parts for name in keywords.names(part, "required")}


def _property(parts: Parts, name: str) -> Parts:
    found = []
    for part in parts:
        properties = keywords.schemas(part, "properties")
        if name in properties:
            found.append(part.child(properties[name], "properties", name))
        elif part.schema.get("additionalProperties") is False and not part.schema.get("patternProperties"):
            found.append(part.child(False, "additionalProperties"))
    return tuple(found)
