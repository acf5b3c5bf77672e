"""Reads what a model wrote: thought, answer, tool calls. Never fails: what fits no rule is answer text."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import regex

from llama.chat.deltas import ContentDelta, Delta, ReasoningDelta, ToolCallArguments, ToolCallStart
from llama.chat.format import ChatFormat, Thought, relaxed
from llama.chat.jsontext import NotJson
from llama.chat.source import Ended, Reading, Source

FENCE = regex.compile(r"\s*```(?:json)?[ \t]*\n")
FENCE_END = regex.compile(r"\s*```\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How to read, besides the format."""

    tools: Mapping[str, Any]  # name -> parameters schema; empty: nothing is a call
    reasoning: str = "auto"  # none, auto, deepseek, deepseek-legacy
    thought: Thought | None = None
    fenced: bool = False  # the answer is JSON: a code block round it is taken off
    new_id: Callable[[], str] = str


class Sink:
    """Text on its way out. White space waits until it is known whether something follows."""

    def __init__(self, emit: Callable[[str], None]) -> None:
        self._emit = emit
        self._waiting = ""
        self.patient = False  # hold white space at the end
        self.trims = False  # drop white space at the start

    def write(self, text: str) -> None:
        """Pass this on, but for white space at its end."""
        text = self._waiting + text
        if self.trims:
            text = text.lstrip()
        shown = text.rstrip() if self.patient else text
        self._waiting = text[len(shown) :]
        if shown:
            self.trims = False
            self._emit(shown)

    def drop(self) -> None:
        """What waits is not shown."""
        self._waiting = ""

    def release(self) -> None:
        """What waits is shown."""
        if self._waiting and not self.trims:
            self._emit(self._waiting)
        self._waiting = ""


class Calls:
    """The tool calls of the message, numbered."""

    def __init__(self, reader: "Reader") -> None:
        self._reader = reader
        self.count = 0

    def start(self, name: str, id: str = "") -> None:
        """A call begins; without an id it gets a new one."""
        self._reader.content.drop()
        self._reader.source.forget()
        self._reader.out.append(ToolCallStart(self.count, id or self._reader.options.new_id(), name))
        self.count += 1

    def arguments(self, text: str) -> None:
        """More of the last call's arguments."""
        if text:
            self._reader.out.append(ToolCallArguments(self.count - 1, text))


class Reader:
    """The state of reading one message; `out` fills with deltas."""

    def __init__(self, format: ChatFormat, options: ReadOptions) -> None:
        self.format = format
        self.options = options
        self.source = Source()
        self.out: list[Delta] = []
        self.calls = Calls(self)
        self.content = Sink(lambda text: self.out.append(ContentDelta(text)))
        self.thought = Sink(lambda text: self.out.append(ReasoningDelta(text)))
        self.content.patient = bool(options.tools)
        self.thought.patient = self.thought.trims = True

    def run(self) -> Reading[None]:
        """Read everything."""
        with contextlib.suppress(Ended):
            try:
                yield from (self.format.read or standard)(self)
            except NotJson:
                yield from self.source.copy_until(None, self.content.write)
        if not self.source.cut:
            self.content.release()

    def knows(self, name: str) -> bool:
        """True if this is a tool of the request."""
        return name in self.options.tools

    @property
    def extracts(self) -> bool:
        """True if thoughts are shown apart from the answer."""
        return self.options.reasoning != "none"

    def open_thought(self, marker: str) -> None:
        """A thought begins with this marker."""
        if not self.extracts or self.options.reasoning == "deepseek-legacy":
            self.content.write(marker)

    def think(self, text: str) -> None:
        """More of the thought."""
        if self.extracts:
            self.thought.write(text)
        if not self.extracts or self.options.reasoning == "deepseek-legacy":
            self.content.write(text)

    def close_thought(self, marker: str) -> None:
        """The thought is over."""
        self.thought.drop()
        if not self.extracts or self.options.reasoning == "deepseek-legacy":
            self.content.write(marker)
        else:
            self.content.trims = True


def standard(reader: Reader) -> Reading[None]:
    """A thought at the very start, if there is one; then answer and calls."""
    closed = yield from thought(reader)
    if reader.options.fenced:
        yield from fenced(reader)
    yield from answer(reader, closed)


def thought(reader: Reader) -> Reading[bool]:
    """Read the thought at the start; True if there was one that ended."""
    markers = reader.options.thought
    if markers is None:
        return False
    start = yield from reader.source.take(regex.compile(r"\s*" + relaxed(markers.start)))
    if start is None:
        alone = reader.extracts and (yield from reader.source.take(regex.compile(r"\s*" + relaxed(markers.end))))
        if alone:
            reader.close_thought("")
        return bool(alone)
    reader.open_thought(start.group())
    ending = relaxed(markers.end)
    if reader.format.ends_thought:
        ending += f"|(?P<body>{'|'.join(map(relaxed, reader.format.ends_thought))})"
    if reader.format.call_ends_thought and reader.options.tools:
        ending += f"|(?P<body>{reader.format.opener(list(reader.options.tools)).pattern})"
    end = yield from reader.source.copy_until(regex.compile(ending), reader.think)
    if end is None:
        return False
    reader.close_thought(end.group() if end.group() not in (end.groupdict().get("body"),) else "")
    return True


def fenced(reader: Reader) -> Reading[None]:
    """An answer in a code block: the block's inside."""
    if (yield from reader.source.take(FENCE)) is not None:
        yield from reader.source.copy_until(FENCE_END, reader.content.write)


def answer(reader: Reader, closed: bool) -> Reading[None]:
    """Answer text, with calls between."""
    live = live_pattern(reader, closed)
    while True:
        match = yield from reader.source.copy_until(live, reader.content.write)
        if match is None:
            return
        found = match.groupdict()
        if found.get("call") is not None:
            yield from call(reader, match)
        elif found.get("open") is not None:
            reader.content.write(match.group())
            live = live_pattern(reader, True)
        elif found.get("close") is not None:
            live = live_pattern(reader, True)


def live_pattern(reader: Reader, closed: bool) -> "regex.Pattern[str] | None":
    """What does not go into the answer as it is: openers of calls, markers round the answer, a lone end of a thought.

    Once a thought has `closed`, or its start stands in the answer as an example, its end is answer text.
    """
    ways = []
    if reader.options.tools:
        ways.append(f"(?P<call>{reader.format.opener(list(reader.options.tools)).pattern})")
    ways += [relaxed(marker) for marker in reader.format.drop]
    markers = reader.options.thought
    if markers is not None and markers.start and reader.extracts and not closed:
        ways += [f"(?P<open>{relaxed(markers.start)})", f"(?P<close>{relaxed(markers.end)})"]
    return regex.compile("|".join(ways)) if ways else None


def call(reader: Reader, match: "regex.Match[str]") -> Reading[None]:
    """Read a call behind its opener; if it is none, its text belongs to the answer."""
    source, before = reader.source, reader.calls.count
    source.mark(match.start("call"))
    try:
        good = yield from reader.format.body.read(reader)
    except NotJson:
        good = False
    except Ended:
        if reader.calls.count == before and not source.cut:
            reader.content.write(source.taken() + source.rest())
        raise
    if reader.calls.count == before and not good:
        reader.content.write(source.taken())
        return
    source.forget()
    for closer in reader.format.closers():
        yield from source.take(closer)
    reader.content.trims = True


def tool_schemas(tools: Sequence[Mapping[str, Any]] | None) -> dict[str, Any]:
    """Name -> parameters schema of the function tools."""
    functions = [tool.get("function", tool) for tool in tools or () if tool.get("type", "function") == "function"]
    return {function["name"]: function.get("parameters") or {} for function in functions}
