"""How a family of models writes thoughts and tool calls: markers declared once, for reading and for grammars.

A new family is a new `ChatFormat` in `llama/chat/formats/`; what the body of a call can look like is in
`llama/chat/bodies/`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import regex

from llama.chat.source import Reading

if TYPE_CHECKING:
    from llama.chat.reader import Reader
    from llama.chat.toolgrammar import Rules

Recognise = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Thought:
    """The markers round a thought. Without a start marker, the thought is open from the beginning."""

    start: str
    end: str

    def is_open(self, text: str) -> bool:
        """True if the text ends inside of a thought."""
        if not self.start:
            return self.end not in text
        return text.rfind(self.start) > text.rfind(self.end)


THINK = Thought("<think>", "</think>")


class Body(Protocol):
    """What stands between the opening and the closing marker of a call."""

    @property
    def lists(self) -> bool:
        """True if several calls stand in one list between the markers."""
        ...

    def read(self, reader: "Reader") -> Reading[bool]:
        """Read one call or more; False if this is not a call after all."""
        ...

    def rule(self, rules: "Rules", name: str) -> str:
        """GBNF for a call of the tool `name`."""
        ...

    def join(self, calls: list[str], many: bool) -> str:
        """GBNF for what may stand between the markers: one of these calls, or with `many` several."""
        ...


@dataclass(frozen=True, slots=True)
class Markers:
    """The fixed text round calls: section_begin (begin body end (between begin body end)*) section_end."""

    begin: str
    end: str = ""
    section_begin: str = ""
    section_end: str = ""
    between: str = ""
    each: bool = False  # the section is written round each call, not once round all of them


@dataclass(frozen=True, slots=True)
class ChatFormat:
    """One family's way to write."""

    name: str
    recognise: Recognise
    markers: Markers
    body: Body
    thought: Thought | None = None  # None: by the template's text
    openers: tuple[str, ...] = ()  # regular expressions that open a call besides the markers; {names} is known tools
    drop: tuple[str, ...] = ()  # markers round the answer, never shown
    answer: tuple[str, str] = ("", "")  # what must stand round an answer that a grammar binds
    call_ends_thought: bool = False
    ends_thought: tuple[str, ...] = ()  # markers that cannot stand in a thought, so one of them ends it
    id_alphabet: str = ""  # "alnum9": invented ids have the form that this family's templates insist on
    read: "Callable[[Reader], Reading[None]] | None" = None  # a reader of its own, instead of the standard one
    grammar: "Callable[[Rules, bool], str] | None" = None  # and a grammar of its own
    preserved: tuple[str, ...] = ()  # special tokens that must show in the text, besides the markers
    begun: str = ""  # pattern that skips what of a prompt's end does not belong to the answer, if the answer is begun
    triggers: tuple[str, ...] = field(default=())  # patterns that start the lazy grammar, instead of the opening marker

    def opener(self, names: list[str]) -> "regex.Pattern[str]":
        """What opens a call of one of these tools, in text."""
        tools = "|".join(regex.escape(name) for name in sorted(names, key=len, reverse=True))
        mine = self.markers
        ways = [f"(?:{relaxed(mine.section_begin)}\\s*)?{relaxed(mine.begin)}"] if mine.begin else []
        return regex.compile("|".join([*ways, *(way.replace("{names}", f"(?:{tools})") for way in self.openers)]))

    def closers(self) -> list["regex.Pattern[str]"]:
        """What may close a call, in the order in which it comes."""
        ends = (self.markers.end, self.markers.section_end)
        return [regex.compile(r"\s*" + relaxed(end)) for end in ends if end.strip()]

    def special(self) -> tuple[str, ...]:
        """Markers that may be single special tokens of the vocabulary, and must be seen as text."""
        mine = self.markers
        texts = [mine.begin, mine.end, mine.section_begin, mine.section_end, *self.preserved, *self.drop]
        if self.thought:
            texts += [self.thought.start, self.thought.end]
        found = [token for text in texts for token in TOKEN.findall(text)]
        return tuple(dict.fromkeys(found))


TOKEN = regex.compile(r"<\|?[^<>\s|]+(?:\s?[^<>\s|]+)*\|?>|\[[A-Z_]+\]|<｜[^｜]+｜>")


def relaxed(literal: str) -> str:
    """A regular expression for a marker whose white space may differ."""
    parts = [regex.escape(part) for part in regex.split(r"\s+", literal.strip())]
    gaps = [r"\s+" if gap == " " else r"\s*" for gap in regex.findall(r"\s+", literal.strip())]
    return "".join(part + gap for part, gap in zip(parts, [*gaps, ""], strict=True))
