"""What a chat request comes to: the prompt, what binds the output, and how the output is read."""

from collections.abc import Callable
from dataclasses import dataclass, field

from llama.chat.format import ChatFormat, Thought
from llama.chat.parser import MessageParser
from llama.chat.reader import ReadOptions
from llama.grammar import Trigger


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatPlan:
    """Everything the rest of the server needs to know about one conversation."""

    prompt: str
    generation_prompt: str = ""  # the end of the prompt, from where the assistant's turn begins
    format: str = "generic"
    grammar: str | None = None
    lazy: bool = False  # the grammar waits for one of the triggers
    triggers: tuple[Trigger, ...] = ()
    after: str | None = None  # grammar or triggers count only behind this text: the end of an open thought
    preserved: tuple[str, ...] = ()  # special tokens that the output must show as text
    stops: tuple[str, ...] = ()
    thought: Thought | None = None  # the markers of a thought, for budgets
    thinking_open: bool = False  # the prompt ends inside of a thought
    reading: "Reading" = field(repr=False)

    def parser(self, echo: bool | None = None) -> MessageParser:
        """A new parser for one choice. `echo`: the deltas begin with the part of the answer that the prompt holds."""
        return self.reading.parser(echo)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How the output is read."""

    format: ChatFormat
    options: Callable[[], ReadOptions]
    begun: str = ""
    echo: bool = True

    def parser(self, echo: bool | None) -> MessageParser:
        """A new parser for one choice."""
        return MessageParser(self.format, self.options(), self.begun, self.echo if echo is None else echo)
