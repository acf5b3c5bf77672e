"""Calls written as Python: [f(a=1, b="x"), g()]."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import regex

from llama.chat.bodies.jsonbody import listed
from llama.chat.source import Reading, Source
from llama.chat.values import python_literal

if TYPE_CHECKING:
    from llama.chat.reader import Reader
    from llama.chat.toolgrammar import Rules

KEY = regex.compile(r"\s*(?P<key>\w+)\s*=\s*")
QUOTED = regex.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""", regex.DOTALL)
PLAIN = regex.compile(r"""[^"'()\[\]{},]+|[()\[\]{},]""")
WORDS = {"true": "True", "false": "False", "null": "None"}
WORD = regex.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|\b(true|false|null)\b""", regex.DOTALL)


@dataclass(frozen=True, slots=True)
class PythonBody:
    """A list of calls with named arguments."""

    @property
    def lists(self) -> bool:
        """True: several calls stand in one list."""
        return True

    def read(self, reader: "Reader") -> Reading[bool]:
        """Read the list."""
        source = reader.source
        names = "|".join(regex.escape(name) for name in sorted(reader.options.tools, key=len, reverse=True))
        head = regex.compile(rf"[\s,\[]*(?P<name>{names})\s*\(")
        while True:
            match = yield from source.take(head)
            if match is None:
                break
            reader.calls.start(match.group("name"))
            yield from self._arguments(reader)
        yield from source.take(regex.compile(r"\s*\]"))
        return reader.calls.count > 0

    def _arguments(self, reader: "Reader") -> Reading[None]:
        source, opening = reader.source, "{"
        while True:
            yield from source.space()
            character = yield from source.peek()
            if character in "),":
                source.at += 1
                if character == ")":
                    break
                continue
            key = yield from source.take(KEY)
            if key is None:
                break
            value = yield from self._value(source)
            reader.calls.arguments(f"{opening}{json.dumps(key.group('key'))}: {value}")
            opening = ", "
        reader.calls.arguments("{}" if opening == "{" else "}")

    def _value(self, source: Source) -> Reading[str]:
        text, depth = "", 0
        while True:
            first = yield from source.peek()
            if not depth and first in "),":
                return as_json(text)
            match = yield from source.take(QUOTED if first in "\"'" else PLAIN)
            if match is None:
                text += first
                source.at += 1
                continue
            text += match.group()
            depth += (match.group() in "([{") - (match.group() in ")]}")

    def rule(self, rules: "Rules", name: str) -> str:
        """GBNF for a call of this tool."""
        return f"{rules.text(name + '(')} {rules.python(name)} {rules.text(')')}"

    def join(self, calls: list[str], many: bool) -> str:
        """GBNF for a list of the calls."""
        one = "(" + " | ".join(calls) + ")"
        return listed(one, many)


def as_json(text: str) -> str:
    """A Python literal, or a JSON value, as JSON; anything else as a string."""
    python = WORD.sub(lambda match: match.group(1) or WORDS[match.group(2)], text.strip())
    if python in ("None", ""):
        return "null"
    value = python_literal(python)
    return json.dumps(text.strip() if value is None else value, ensure_ascii=False)
