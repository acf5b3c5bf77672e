"""What every chat-like endpoint does with events: text goes through the message parser, deltas come out."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from llama.api.answer import Answer, Chunk, Job
from llama.api.call import ChatCall
from llama.chat import ChatPlan, ContentDelta, Delta, MessageParser, ReasoningDelta
from llama.engine.request import Finished, Logprobs, Token


@dataclass(slots=True)
class ChatChoice:
    """One choice so far. Log-probabilities up to `sent` went out with earlier chunks."""

    index: int
    parser: MessageParser
    entries: list[Logprobs] = field(default_factory=list)
    sent: int = 0
    end: Finished | None = None

    @property
    def message(self) -> dict[str, Any]:
        """The message so far."""
        return dict(self.parser.message)

    @property
    def called(self) -> bool:
        """True if the message calls a tool."""
        return bool(self.parser.message.get("tool_calls"))

    def unsent(self) -> list[Logprobs]:
        """Log-probabilities that no chunk has carried yet; they count as sent now."""
        entries, self.sent = self.entries[self.sent :], len(self.entries)
        return entries


class ParsedAnswer(Answer):
    """An answer whose text is taken apart into content, reasoning and tool calls."""

    def __init__(self, job: Job, chat: ChatCall, plan: ChatPlan) -> None:
        super().__init__(job)
        self.chat = chat
        self.choices = [ChatChoice(index, plan.parser()) for index in range(job.n)]

    def token(self, prompt: int, event: Token) -> list[Chunk]:
        choice = self.choices[event.index]
        if event.logprobs is not None:
            choice.entries.append(event.logprobs)
        deltas = choice.parser.feed(event.text)
        self._count_reasoning(deltas)
        return self.deltas(choice, deltas, event) if deltas else []

    def finished(self, prompt: int, event: Finished) -> list[Chunk]:
        choice = self.choices[event.index]
        choice.end = event
        del choice.entries[len(choice.entries) - event.dropped :]
        deltas = choice.parser.feed(event.text) + choice.parser.flush(partial=event.reason == "limit")
        chunks = self.deltas(choice, deltas, event) if deltas else []
        return [*chunks, *self.end(choice, event)]

    @property
    def complete(self) -> bool:
        """True when every choice has ended."""
        return all(choice.end is not None for choice in self.choices)

    @abstractmethod
    def deltas(self, choice: ChatChoice, deltas: Sequence[Delta], event: Token | Finished) -> list[Chunk]:
        """Chunks for what a step added to the message."""

    @abstractmethod
    def end(self, choice: ChatChoice, event: Finished) -> list[Chunk]:
        """Chunks for the end of a choice."""

    def _count_reasoning(self, deltas: Sequence[Delta]) -> None:
        thinks = any(isinstance(delta, ReasoningDelta) for delta in deltas)
        answers = any(isinstance(delta, ContentDelta) for delta in deltas)
        self.tally.reasoning += thinks and not answers
