"""Calls whose arguments are elements, nested as far as the values are; `space` stands before every tag."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import regex

from llama.chat.bodies.tagged import filled
from llama.chat.jsontext import NotJson
from llama.chat.source import Reading
from llama.chat.values import STRING, encoded, kinds, parts_of

if TYPE_CHECKING:
    from llama.chat.reader import Reader
    from llama.chat.toolgrammar import Rules

MAX_DEPTH = 40


@dataclass(frozen=True, slots=True)
class NestedBody:
    """name">, then <key>value</key> for each argument; a list is made of <item> elements."""

    space: str

    @property
    def lists(self) -> bool:
        """False: each call has its own markers."""
        return False

    def read(self, reader: "Reader") -> Reading[bool]:
        """Read one call."""
        match = yield from reader.source.take(filled(r'{names}"\s*>', tuple(reader.options.tools)))
        if match is None:
            return False
        name = match.group("name")
        reader.calls.start(name)
        schema = reader.options.tools[name]
        yield from Elements(reader, self.space, schema).members(schema, 0, first=None)
        return True

    def rule(self, rules: "Rules", name: str) -> str:
        """GBNF for a call of this tool."""
        return f"{rules.text(name + chr(34) + '>')} {rules.nested(name, self.space)}"

    def join(self, calls: list[str], many: bool) -> str:
        """GBNF for one of the calls: each has its own markers."""
        return "(" + " | ".join(calls) + ")"


class Elements:
    """Reads elements and passes them on as JSON."""

    def __init__(self, reader: "Reader", space: str, root: Any) -> None:
        self._reader = reader
        self._root = root
        mark = regex.escape(space)
        self._open = regex.compile(rf"\s*{mark}<(?P<key>[^/<>][^<>]*)>")
        self._any = regex.compile(rf"{mark}<(?P<key>/?[^<>]*)>")

    def members(self, schema: Any, depth: int, first: str | None) -> Reading[None]:
        """The elements of an object, or the items of a list, whose first tag `first` is read already."""
        if depth > MAX_DEPTH:
            raise NotJson
        listed = first == "item" and "object" not in kinds(schema, self._root)
        send, opening = self._reader.calls.arguments, "[" if listed else "{"
        key = first
        while True:
            if key is None:
                match = yield from self._reader.source.take(self._open)
                if match is None:
                    break
                key = match.group("key")
            send(opening if listed else f"{opening}{json.dumps(key, ensure_ascii=False)}:")
            opening = ","
            yield from self._value(parts_of(schema, None if listed else key, self._root), depth)
            key = None
        empty = "[]" if listed else "{}"
        send(empty[1] if opening == "," else empty)

    def _value(self, schema: Any, depth: int) -> Reading[None]:
        """One element's inside, up to its end tag."""
        allowed = kinds(schema, self._root)
        kept: list[str] = []
        tag = yield from self._reader.source.copy_until(self._any, kept.append)
        text = "".join(kept)
        if tag is None or tag.group("key").startswith("/"):
            self._reader.calls.arguments(self._scalar(text, allowed))
            return
        yield from self.members(schema, depth + 1, first=tag.group("key"))
        yield from self._reader.source.take(regex.compile(r"\s*" + self._any.pattern))

    def _scalar(self, text: str, allowed: frozenset[str]) -> str:
        if not text.strip() and allowed and "string" not in allowed:
            return next(("[]" if kind == "array" else "{}" for kind in ("array", "object") if kind in allowed), "null")
        return encoded(text, allowed or (STRING if not text.strip() else allowed))
