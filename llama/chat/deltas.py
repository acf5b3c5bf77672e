"""The pieces of an assistant's message as they become known, and the message they add up to."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ContentDelta:
    """More of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of the thought before the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallStart:
    """A tool is called. Sent once a call, before its arguments; `index` counts the calls of the message."""

    index: int
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class ToolCallArguments:
    """More of the JSON text of a call's arguments."""

    index: int
    text: str


Delta = ContentDelta | ReasoningDelta | ToolCallStart | ToolCallArguments


@dataclass(slots=True)
class Collector:
    """Adds deltas up to a message."""

    content: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: list[tuple[ToolCallStart, list[str]]] = field(default_factory=list)

    def add(self, deltas: Iterable[Delta]) -> None:
        """Take these in."""
        for delta in deltas:
            if isinstance(delta, ContentDelta):
                self.content.append(delta.text)
            elif isinstance(delta, ReasoningDelta):
                self.reasoning.append(delta.text)
            elif isinstance(delta, ToolCallStart):
                self.calls.append((delta, []))
            else:
                self.calls[delta.index][1].append(delta.text)

    @property
    def message(self) -> dict[str, Any]:
        """The message in OpenAI's form. Content is None beside tool calls when there is none."""
        content = "".join(self.content)
        message: dict[str, Any] = {"role": "assistant", "content": content or (None if self.calls else "")}
        if self.reasoning:
            message["reasoning_content"] = "".join(self.reasoning)
        if self.calls:
            message["tool_calls"] = [
                {
                    "id": start.id,
                    "type": "function",
                    "function": {"name": start.name, "arguments": "".join(arguments)},
                }
                for start, arguments in self.calls
            ]
        return message
