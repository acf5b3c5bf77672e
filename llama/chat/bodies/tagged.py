"""Calls whose arguments stand each in a tag of its own, as text."""

import functools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import regex

from llama.chat.source import Ended, Reading
from llama.chat.values import STRING, encoded, kinds, surely_json, surely_text

if TYPE_CHECKING:
    from llama.chat.reader import Reader
    from llama.chat.toolgrammar import Rules


@dataclass(frozen=True, slots=True)
class TaggedBody:
    """Regular expressions for reading, and the fixed text for grammars.

    `head` has the place {names}, in a group called `name`; `open` has a group `key`, and may have a group `string` that
    says whether the value is text.
    """

    head: str
    open: str
    close: str
    end: str
    write_head: str  # with the place {name}
    write_open: str  # with the place {key}
    write_close: str
    write_end: str = ""
    verbatim: tuple[str, str] = ("", "")  # what may stand round a value in which the closing tag may occur

    @property
    def lists(self) -> bool:
        """False: each call has its own markers."""
        return False

    def read(self, reader: "Reader") -> Reading[bool]:
        """Read one call."""
        source = reader.source
        match = yield from source.take(filled(self.head, tuple(reader.options.tools)))
        if match is None:
            return False
        name = match.group("name")
        reader.calls.start(name)
        schema = reader.options.tools[name]
        opening, closing = "{", regex.compile(self.end)
        try:
            while True:
                key = yield from source.take(regex.compile(self.open))
                if key is None:
                    break
                shown = json.dumps(key.group("key"), ensure_ascii=False)
                reader.calls.arguments(f"{opening}{shown}:")
                opening = ","
                yield from self._value(reader, key, schema)
            yield from source.take(closing)
        except Ended:
            if not source.cut:
                reader.calls.arguments("{}" if opening == "{" else "}")
            raise
        reader.calls.arguments("{}" if opening == "{" else "}")
        return True

    def _value(self, reader: "Reader", match: "regex.Match[str]", schema: Any) -> Reading[None]:
        properties = schema.get("properties") if isinstance(schema, dict) else None
        allowed = kinds((properties or {}).get(match.group("key")), schema)
        said = match.groupdict().get("string")
        if said is not None:
            allowed = STRING if said in ("true", "string") else allowed - STRING
        value = Value(reader, allowed)
        close = self.close
        if self.verbatim[0] and (yield from reader.source.take(regex.compile(regex.escape(self.verbatim[0])))):
            close = regex.escape(self.verbatim[1]) + r"\s*" + close
        yield from reader.source.copy_until(regex.compile(close), value.write)
        value.end()

    def rule(self, rules: "Rules", name: str) -> str:
        """GBNF for a call of this tool."""
        head = rules.marker(self.write_head.replace("{name}", name))
        return f"{head} {rules.tagged(name, self.write_open, self.write_close)} {rules.marker(self.write_end)}"

    def join(self, calls: list[str], many: bool) -> str:
        """GBNF for one of the calls: each has its own markers."""
        return "(" + " | ".join(calls) + ")"


class Value:
    """One argument on its way from text to JSON; strings go out while they come."""

    def __init__(self, reader: "Reader", allowed: frozenset[str]) -> None:
        self._reader = reader
        self._allowed = allowed
        self._waiting = ""
        self._mode = "text" if allowed == STRING else "open"
        self._opened = False

    def write(self, text: str) -> None:
        """More of the value."""
        self._waiting += text
        if self._mode == "open" and surely_text(self._waiting, self._allowed):
            self._mode = "text"
        elif self._mode == "open" and surely_json(self._waiting, self._allowed):
            self._mode = "json"
            self._waiting = self._waiting.lstrip()
        if self._mode == "text":
            self._send_text()
        elif self._mode == "json":
            self._send(self._waiting)

    def _send_text(self) -> None:
        mark = "" if self._opened else '"'
        self._opened = True
        self._send(mark + json.dumps(self._waiting, ensure_ascii=False)[1:-1])

    def _send(self, text: str) -> None:
        self._reader.calls.arguments(text)
        self._waiting = ""

    def end(self) -> None:
        """The value is over."""
        if self._mode == "text":
            self._send_text()
            self._send('"')
        elif self._mode == "open":
            self._send(encoded(self._waiting, self._allowed))


@functools.lru_cache(maxsize=256)
def filled(pattern: str, names: tuple[str, ...]) -> "regex.Pattern[str]":
    """The pattern with the names of the tools in place of {names}."""
    tools = "|".join(regex.escape(name) for name in sorted(names, key=len, reverse=True))
    return regex.compile(pattern.replace("{names}", f"(?P<name>{tools})"))
