"""Gemma's own notation: call:f{key:<|"|>text<|"|>,n:1}, where keys are bare and strings have quotes of their own."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import regex

from llama.chat.jsontext import NotJson, loaded
from llama.chat.source import Reading

if TYPE_CHECKING:
    from llama.chat.reader import Reader
    from llama.chat.toolgrammar import Rules

QUOTE = '<|"|>'
OPEN = regex.compile(r'<\|"\|>')
KEY = regex.compile(r'\s*(?:<\|"\|>(?P<quoted>[^<]*)<\|"\|>|"(?P<plain>[^"]*)"|(?P<key>[^\s:{}\[\],<"]+))\s*:')
SCALAR = regex.compile(r"[^,{}\[\]<]*(?P<body>[,{}\[\]<])")
MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class QuotedBody:
    """One call; the arguments are turned into JSON while they come."""

    @property
    def lists(self) -> bool:
        """False: each call has its own markers."""
        return False

    def read(self, reader: "Reader") -> Reading[bool]:
        """Read the call."""
        names = "|".join(regex.escape(name) for name in sorted(reader.options.tools, key=len, reverse=True))
        match = yield from reader.source.take(regex.compile(rf"\s*call:\s*(?P<name>{names})\s*(?P<body>\{{)"))
        if match is None:
            return False
        reader.calls.start(match.group("name"))
        yield from self._value(reader, 0)
        return True

    def _value(self, reader: "Reader", depth: int) -> Reading[None]:
        if depth > MAX_DEPTH:
            raise NotJson
        source, send = reader.source, reader.calls.arguments
        yield from source.space()
        first = yield from source.peek()
        if first in "{[":
            source.at += 1
            send(first)
            yield from self._members(reader, first == "{", depth)
        elif first == "<" and (yield from source.take(OPEN)):
            yield from self._text(reader)
        else:
            yield from self._scalar(reader)

    def _members(self, reader: "Reader", keyed: bool, depth: int) -> Reading[None]:
        source, send, close = reader.source, reader.calls.arguments, "}" if keyed else "]"
        comma = ""
        while True:
            yield from source.space()
            character = yield from source.peek()
            if character == close:
                source.at += 1
                send(close)
                return
            if character == ",":
                source.at += 1
                comma = ","
                continue
            key = (yield from source.take(KEY)) if keyed else None
            if keyed and key is None:
                raise NotJson
            named = next((value for value in key.groups() if value is not None), "") if key else ""
            send(comma + (json.dumps(named, ensure_ascii=False) + ":" if keyed else ""))
            yield from self._value(reader, depth + 1)

    def _text(self, reader: "Reader") -> Reading[None]:
        send = reader.calls.arguments
        send('"')
        yield from reader.source.copy_until(OPEN, lambda text: send(json.dumps(text, ensure_ascii=False)[1:-1]))
        send('"')

    def _scalar(self, reader: "Reader") -> Reading[None]:
        match = yield from reader.source.take(SCALAR)
        if match is None:
            raise NotJson
        text = match.group()[: match.start("body") - match.start()].strip()
        valid = loaded(text) is not None or text == "null"
        reader.calls.arguments(text if valid else json.dumps(text, ensure_ascii=False))

    def rule(self, rules: "Rules", name: str) -> str:
        """GBNF for a call of this tool."""
        return f"{rules.text('call:' + name)} {rules.quoted(name, QUOTE)}"

    def join(self, calls: list[str], many: bool) -> str:
        """GBNF for one of the calls: each has its own markers."""
        return "(" + " | ".join(calls) + ")"
