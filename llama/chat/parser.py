"""Turns the text of one answer, as it comes, into deltas of a message."""

from collections.abc import Generator

from llama.chat.deltas import Collector, ContentDelta, Delta, ReasoningDelta, ToolCallArguments
from llama.chat.format import ChatFormat
from llama.chat.reader import Reader, ReadOptions


class MessageParser:
    """Feed it text; it returns what that adds to the message. It never raises, and takes nothing back.

    `begun` is the part of the prompt that belongs to the answer: an opened thought, or an answer to be continued. With
    `echo` the deltas contain what was begun there, without it only what follows.
    """

    def __init__(self, format: ChatFormat, options: ReadOptions, begun: str = "", echo: bool = True) -> None:
        self._reader = Reader(format, options)
        self._steps: Generator[None, None, None] | None = self._reader.run()
        self._collector = Collector()
        self._waiting: list[Delta] = []
        if begun:
            deltas = self._advance(begun)
            self._waiting = deltas if echo else []

    def feed(self, text: str) -> list[Delta]:
        """What this text adds."""
        return self._collect(self._advance(text) if text else [])

    def flush(self, partial: bool = False) -> list[Delta]:
        """What is left at the end. `partial`: the text was cut off, so its tail may be half a marker and is dropped."""
        self._reader.source.close(partial)
        return self._collect(self._advance(""))

    @property
    def message(self) -> dict[str, object]:
        """The message so far: the sum of all deltas."""
        return self._collector.message

    def _advance(self, text: str) -> list[Delta]:
        self._reader.source.feed(text)
        if self._steps is not None:
            try:
                next(self._steps)
            except StopIteration:
                self._steps = None
        deltas, self._reader.out[:] = merged(self._reader.out), []
        return deltas

    def _collect(self, deltas: list[Delta]) -> list[Delta]:
        deltas, self._waiting = merged([*self._waiting, *deltas]), []
        self._collector.add(deltas)
        return deltas


def merged(deltas: list[Delta]) -> list[Delta]:
    """The same deltas, neighbours of one kind put together."""
    result: list[Delta] = []
    for delta in deltas:
        both = together(result[-1], delta) if result else None
        if both is None:
            result.append(delta)
        else:
            result[-1] = both
    return result


def together(first: Delta, second: Delta) -> Delta | None:
    """One delta for two of the same kind, or None."""
    if isinstance(first, ContentDelta) and isinstance(second, ContentDelta):
        return ContentDelta(first.text + second.text)
    if isinstance(first, ReasoningDelta) and isinstance(second, ReasoningDelta):
        return ReasoningDelta(first.text + second.text)
    if isinstance(first, ToolCallArguments) and isinstance(second, ToolCallArguments) and first.index == second.index:
        return ToolCallArguments(first.index, first.text + second.text)
    return None
