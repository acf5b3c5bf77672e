"""Where a schema stands: its value, its path for messages, and how its references are looked up."""

from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT3, DRAFT4, DRAFT6, DRAFT7, DRAFT202012, SchemaRegistry, specification_with

from llama.errors import SchemaError

OLD_DRAFTS = (DRAFT3, DRAFT4, DRAFT6, DRAFT7)
OLD_KEYWORDS = frozenset({"definitions", "dependencies", "additionalItems"})


class Resolver(Protocol):
    """What is used of `referencing`'s resolver."""

    def lookup(self, ref: str) -> Any:
        """The schema with its own resolver; raises Unresolvable."""
        ...

    def in_subresource(self, subresource: Any) -> Any:
        """The resolver below a schema that has an `$id`."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Location:
    """A schema in its document.

    above: the schemas that brought it to the same instance, by identity;  negated: it must not hold;  listing: its
    properties may be written, False: they only restrict others.
    """

    schema: Any
    path: str
    resolver: Resolver
    above: frozenset[int] = frozenset()
    negated: bool = False
    listing: bool = True
    old: bool = False  # a draft before 2019-09

    @property
    def key(self) -> tuple[int, bool, bool]:
        """The same for the same schema, however it was reached."""
        identity = id(self.schema) if isinstance(self.schema, dict) else int(self.schema is True)
        return identity, self.negated, self.listing

    def child(self, schema: Any, *steps: object) -> "Location":
        """A schema below this one that speaks about another instance (a property, an item)."""
        return Location(schema, self.path + _pointer(steps), _entered(self.resolver, schema), old=self.old)

    def beside(
        self, schema: Any, *steps: object, negated: bool | None = None, listing: bool | None = None
    ) -> "Location":
        """A schema below this one that speaks about the same instance."""
        return Location(
            schema,
            self.path + _pointer(steps),
            _entered(self.resolver, schema),
            self.above | {id(self.schema)},
            self.negated if negated is None else negated,
            self.listing if listing is None else listing,
            self.old,
        )

    def referred(self, keyword: str) -> "Location":
        """The schema that a `$ref` names. Raises SchemaError if it is not in this document."""
        reference = self.schema[keyword]
        if not isinstance(reference, str):
            self.refuse(keyword, f"must be a string, got {reference!r}")
        if "$id" in self.schema and self.old:
            self.refuse("$id", f"stands beside {keyword}, which drafts before 2019-09 do not let it")
        try:
            found = self.resolver.lookup(reference)
        except (Unresolvable, ValueError, TypeError, LookupError, AttributeError):
            self.refuse(keyword, f"{reference!r} is not in this schema, and other documents are not fetched")
        path = reference if reference.startswith("#") else f"{self.path}/{keyword}"
        above = self.above | {id(self.schema)}
        return Location(found.contents, path, found.resolver, above, self.negated, self.listing, self.old)

    def refuse(self, keyword: str, reason: str) -> NoReturn:
        """Raise the SchemaError that names this place."""
        where = f"{self.path}/{escape(keyword)}" if keyword else self.path
        raise SchemaError(f"JSON schema error at {where}: {reason}", self.path, keyword)


def root_location(schema: Any) -> Location:
    """The top of a schema document. Its `$schema` picks the draft; without one, its keywords do."""
    dialect = schema.get("$schema") if isinstance(schema, dict) else None
    default = DRAFT7 if isinstance(schema, dict) and _looks_old(schema) else DRAFT202012
    specification = specification_with(dialect, default=default) if isinstance(dialect, str) else default
    resource = specification.create_resource(schema)
    uri = _own_id(schema)
    registry: SchemaRegistry = Registry()
    return Location(schema, "#", registry.with_resource(uri, resource).resolver(uri), old=specification in OLD_DRAFTS)


def _looks_old(schema: dict[str, Any]) -> bool:
    return bool(OLD_KEYWORDS & schema.keys()) or isinstance(schema.get("items"), list)


def escape(step: object) -> str:
    """One step of a JSON pointer."""
    return str(step).replace("~", "~0").replace("/", "~1")


def _pointer(steps: tuple[object, ...]) -> str:
    return "".join(f"/{escape(step)}" for step in steps)


def _own_id(schema: Any) -> str:
    name = schema.get("$id") if isinstance(schema, dict) else None
    return name if isinstance(name, str) and not name.startswith("#") else ""


def _entered(resolver: Resolver, schema: Any) -> Resolver:
    if not _own_id(schema):
        return resolver
    entered: Resolver = resolver.in_subresource(DRAFT202012.create_resource(schema))
    return entered
