"""Calls written as JSON objects whose only key is the tool's name: [{"f": {..}}]."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from llama.chat import jsontext
from llama.chat.bodies.head import arguments
from llama.chat.bodies.jsonbody import listed
from llama.chat.source import Reading

if TYPE_CHECKING:
    from llama.chat.reader import Reader
    from llama.chat.toolgrammar import Rules


@dataclass(frozen=True, slots=True)
class KeyedBody:
    """[{"f": {..}}, ..], or one object with several such keys."""

    @property
    def lists(self) -> bool:
        """True: several calls stand in one list."""
        return True

    def read(self, reader: "Reader") -> Reading[bool]:
        """Read the list."""
        source = reader.source
        while True:
            yield from source.space()
            character = yield from source.peek()
            if character == "]":
                source.at += 1
                return True
            if character in "[{,}":
                source.at += 1
            elif character == '"':
                name = yield from jsontext.string(source)
                yield from source.space()
                if not reader.knows(name) or (yield from source.peek()) != ":":
                    return False
                source.at += 1
                reader.calls.start(name)
                yield from arguments(reader)
            else:
                return reader.calls.count > 0

    def rule(self, rules: "Rules", name: str) -> str:
        """GBNF for the object that calls this tool."""
        return f'"{{" {rules.json_string(name)} ": " {rules.arguments(name)} "}}"'

    def join(self, calls: list[str], many: bool) -> str:
        """GBNF for a list of the calls."""
        one = "(" + " | ".join(calls) + ")"
        return listed(one, many)
