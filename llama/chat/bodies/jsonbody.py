"""Calls written as JSON: an object with a name and arguments, or a list of such objects."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import regex

from llama.chat import jsontext
from llama.chat.jsontext import NotJson
from llama.chat.source import Ended, Reading

if TYPE_CHECKING:
    from llama.chat.reader import Reader
    from llama.chat.toolgrammar import Rules

NEXT = regex.compile(r"\s*(?P<body>\{)")


@dataclass(frozen=True, slots=True)
class JsonBody:
    """{"name": f, "arguments": {..}}, one or a list; other names of the keys are understood as well."""

    name: str = "name"
    arguments: str = "arguments"
    id: str = ""  # the key of the id, when this family writes one
    id_form: str = ""  # what the id looks like: "alnum9", or "index" for the number of the call
    id_last: bool = False  # the id comes after the arguments
    listed: bool = False  # calls stand in a list, a single one too
    lines: bool = False  # calls stand in lines of their own
    names: tuple[str, ...] = field(default=("name", "tool_name"))
    keys: tuple[str, ...] = field(default=("arguments", "parameters", "args", "input"))
    ids: tuple[str, ...] = field(default=("id", "tool_call_id", "call_id"))

    @property
    def lists(self) -> bool:
        """True if several calls stand between the markers."""
        return self.listed or self.lines

    def read(self, reader: "Reader") -> Reading[bool]:
        """Read an object or a list of objects."""
        source = reader.source
        yield from source.space()
        first = yield from source.peek()
        if first == "{":
            return (yield from self._objects(reader))
        if first != "[":
            return False
        source.at += 1
        good = True
        while good:
            yield from source.space()
            if (yield from source.peek()) == "{":
                good = yield from self._object(reader)
                yield from source.space()
            character = yield from source.peek()
            if character not in ",]":
                return False
            source.at += 1
            if character == "]":
                break
        return good

    def _objects(self, reader: "Reader") -> Reading[bool]:
        """One object, or with `lines` as many as follow."""
        good = yield from self._object(reader)
        while good and self.lines and (yield from reader.source.take(NEXT)):
            good = yield from self._object(reader)
        return good

    def _object(self, reader: "Reader") -> Reading[bool]:
        state = State(self, reader)
        try:
            yield from state.object()
        except Ended:
            state.begin(final=True, broken=reader.source.cut)
            raise
        state.begin(final=True)
        return state.begun

    def rule(self, rules: "Rules", name: str) -> str:
        """GBNF for the object that calls this tool."""
        pairs = [
            rules.text(f'"{self.name}": ') + " " + rules.json_string(name),
            rules.text(f'"{self.arguments}": ') + " " + rules.arguments(name),
        ]
        if self.id:
            value = rules.text('"') + " " + rules.id(self.id_form) + " " + rules.text('"')
            pairs.insert(len(pairs) if self.id_last else 0, rules.text(f'"{self.id}": ') + " " + value)
        return " ".join(['"{"', f" {rules.text(', ')} ".join(pairs), '"}"'])

    def join(self, calls: list[str], many: bool) -> str:
        """GBNF for one of the calls, or a list of them."""
        one = "(" + " | ".join(calls) + ")"
        if self.lines and many:
            return f'{one} ("\\n" {one})*'
        if not self.listed:
            return one
        return listed(one, many)


def listed(one: str, many: bool) -> str:
    """GBNF for a list of one call, or of several."""
    space = "[ \\n]{0,9}"
    more = f'("," {space} {one})*' if many else '""'
    return f'"[" {space} {one} {space} {more} {space} "]"'


class State:
    """One object while it is read: its keys may come in any order."""

    def __init__(self, body: JsonBody, reader: "Reader") -> None:
        self._body = body
        self._reader = reader
        self._name: str | None = None
        self._id = ""
        self._arguments = ""  # waiting for the name
        self._streams = False
        self.begun = False

    def object(self) -> Reading[None]:
        """Read the object that comes next, and pass the call on as soon as it is known to be one."""
        source = self._reader.source
        source.at += 1
        while True:
            yield from source.space()
            if (yield from source.peek()) == "}":
                source.at += 1
                return
            key = yield from jsontext.string(source)
            yield from source.space()
            if (yield from source.peek()) != ":":
                raise NotJson
            source.at += 1
            yield from source.space()
            yield from self._value(key)
            yield from source.space()
            character = yield from source.peek()
            if character not in ",}":
                raise NotJson
            source.at += character == ","

    def _value(self, key: str) -> Reading[None]:
        body, source = self._body, self._reader.source
        first = yield from source.peek()
        if key in body.names and self._name is None and first == '"':
            name = yield from jsontext.string(source)
            if not self._reader.knows(name):
                raise NotJson
            self._name = name
            self.begin()
        elif key in body.ids and first != "{":
            text: list[str] = []
            yield from jsontext.value(source, text.append)
            self._id = "".join(text).strip('"')
            self.begin()
        elif key in body.keys:
            yield from self._read_arguments(first)
        elif key == "function" and first == "{":
            yield from self.object()
        else:
            yield from jsontext.value(source, jsontext.skip)

    def _read_arguments(self, first: str) -> Reading[None]:
        self._streams = first == "{"
        yield from jsontext.value(self._reader.source, self._take)

    def _take(self, text: str) -> None:
        if self.begun and self._streams:
            self._reader.calls.arguments(text)
            self._arguments = "sent"
        else:
            self._arguments += text

    def begin(self, final: bool = False, broken: bool = False) -> None:
        """Start the call if it is known well enough; at the end of the object, send what waited.

        Of an object that was cut off (`broken`) only arguments that are sent as they come are sent.
        """
        waits = self._body.id_last and not self._id and not final
        if self._name is not None and not self.begun and not waits:
            self.begun = True
            self._reader.calls.start(self._name, self._id)
            if self._arguments and self._streams:
                self._reader.calls.arguments(self._arguments)
                self._arguments = "sent"
        if final and not broken and self.begun and self._arguments != "sent":
            self._reader.calls.arguments(jsontext.tidied(self._arguments))
