"""Calls written as a head that holds the name (and an id), with the arguments as JSON behind it."""

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import regex

from llama.chat import jsontext
from llama.chat.format import relaxed
from llama.chat.source import Ended, Reading

if TYPE_CHECKING:
    from llama.chat.reader import Reader
    from llama.chat.toolgrammar import Rules

FIELD = regex.compile(r"(\{name\}|\{id\}|\{index\})")
PATTERNS = {"{id}": r"(?P<id>[^\s\[<]+)", "{index}": r"(?P<index>\d+)"}


@dataclass(frozen=True, slots=True)
class HeadBody:
    """`head` has the places {name}, {id} and {index}; `others` are heads that are understood but not written."""

    head: str
    id: str = ""  # the call's id, made of the same places
    id_form: str = "alnum9"
    others: tuple[str, ...] = ()
    tail: str = ""  # fixed text behind the arguments
    tail_optional: str = ""  # text behind the arguments that is understood but not written

    @property
    def lists(self) -> bool:
        """False: each call has its own markers."""
        return False

    def read(self, reader: "Reader") -> Reading[bool]:
        """Read one call."""
        heads = (self.head, *self.others)
        match = yield from reader.source.take(head_pattern(heads, tuple(reader.options.tools)))
        if match is None:
            return False
        found = {key: value for key, value in match.groupdict().items() if value is not None}
        wanted = FIELD.findall(self.id)
        known = all(place.strip("{}") in found for place in wanted)
        reader.calls.start(found["name"], self.id.format(**found) if wanted and known else "")
        yield from arguments(reader)
        if self.tail or self.tail_optional:
            yield from reader.source.take(regex.compile(r"\s*" + relaxed(self.tail or self.tail_optional)))
        return True

    def rule(self, rules: "Rules", name: str) -> str:
        """GBNF for a call of this tool."""
        places = {"{name}": rules.text(name), "{id}": rules.id(self.id_form), "{index}": rules.id("index")}
        parts = [places.get(part) or rules.text(part) for part in FIELD.split(self.head) if part]
        return " ".join([*parts, rules.arguments(name), *([rules.text(self.tail)] if self.tail else [])])

    def join(self, calls: list[str], many: bool) -> str:
        """GBNF for one of the calls: each has its own markers."""
        return "(" + " | ".join(calls) + ")"


@functools.lru_cache(maxsize=256)
def head_pattern(heads: tuple[str, ...], names: tuple[str, ...]) -> "regex.Pattern[str]":
    """A regular expression for any of these heads with one of these names."""
    tools = "|".join(regex.escape(name) for name in sorted(names, key=len, reverse=True))
    patterns = PATTERNS | {"{name}": f"(?P<name>{tools})"}
    ways = ["".join(patterns.get(part) or spaced(part) for part in FIELD.split(head)) for head in heads]
    return regex.compile(r"\s*(?:" + "|".join(ways) + ")")


def spaced(literal: str) -> str:
    """A regular expression for a part of a head, white space at its ends included."""
    before = r"\s*" if literal[:1].isspace() else ""
    behind = r"\s*" if literal[-1:].isspace() else ""
    return before + relaxed(literal) + behind


def arguments(reader: "Reader") -> Reading[None]:
    """Pass on the JSON that follows as the arguments of the last call."""
    source = reader.source
    try:
        yield from source.space()
        first = yield from source.peek()
    except Ended:
        if not source.cut:
            reader.calls.arguments("{}")
        raise
    if first == "{":
        yield from jsontext.value(source, reader.calls.arguments)
    elif first in '"n':
        kept: list[str] = []
        yield from jsontext.value(source, kept.append)
        reader.calls.arguments(jsontext.tidied("".join(kept)))
    else:
        reader.calls.arguments("{}")
