"""What a template can do with messages, found by rendering small conversations through it."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from llama.chat.meter import LimitExceeded
from llama.errors import TemplateError

USER = {"role": "user", "content": "probe user"}
PARTS = {"role": "user", "content": [{"type": "text", "text": "probe user"}]}
SYSTEM = {"role": "system", "content": "probe system"}
DEVELOPER = {"role": "developer", "content": "probe developer"}
TOOL = {
    "type": "function",
    "function": {
        "name": "probe_tool",
        "description": "probe description",
        "parameters": {
            "type": "object",
            "properties": {"probe_key": {"type": "string", "description": "probe"}},
            "required": ["probe_key"],
        },
    },
}
PYTHON_DICT = ("'probe_key'", "'type'", '"type"')


@dataclass(frozen=True, slots=True)
class Abilities:
    """How messages must look for a template, and what it can show of them."""

    text: bool  # content may be a string
    parts: bool  # content may be a list of parts
    system: bool  # there is a system role
    developer: bool  # there is a developer role beside it
    objects: bool  # arguments of tool calls may be objects
    strings: bool  # arguments of tool calls may be JSON text
    null: bool  # the missing content of a tool call may stay null
    tools: bool  # descriptions of tools are shown
    calls: bool  # tool calls of earlier turns are shown
    results: bool  # messages with the role tool are shown
    parallel: bool  # several calls in one turn are shown
    thoughts: bool  # a turn that calls a tool may have both content and reasoning


class Probe:
    """Renders conversations and looks for words in them; a conversation that is refused shows nothing.

    Templates get copies: one that changes its messages must not change the next probe's.
    """

    def __init__(self, run: Callable[..., str]) -> None:
        self._run = run

    def shows(self, messages: list[Any], *needles: str, never: tuple[str, ...] = (), **variables: Any) -> bool:
        """True if the text for these messages has all the needles and nothing of `never`."""
        text = self.text(messages, **variables)
        return all(needle in text for needle in needles) and not any(word in text for word in never)

    def text(self, messages: list[Any], **variables: Any) -> str:
        """The text for these messages, empty if they are refused. Raises TemplateError if it takes too much."""
        try:
            return self._run(deepcopy(messages), add_generation_prompt=True, **deepcopy(variables))
        except TemplateError as error:
            if isinstance(error.__cause__, LimitExceeded):
                raise
            return ""


def call(arguments: Any, name: str = "probe_tool", id: str = "call00001") -> dict[str, Any]:
    """A tool call as it stands in an assistant's message."""
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calling(content: Any, *calls: Any) -> list[Any]:
    """A user's question and an assistant's turn that calls tools."""
    return [USER, {"role": "assistant", "content": content, "tool_calls": list(calls)}]


def probe(run: Callable[..., str]) -> Abilities:
    """What the template behind `run` can do. Raises TemplateError if even this takes too much time or memory."""
    look = Probe(run)
    with_object = calling("", call({"probe_key": "probe_value"}))
    with_text = calling("", call('{"probe_key": "probe_value"}'))
    result = {"role": "tool", "tool_call_id": "call00001", "name": "probe_tool", "content": "probe result"}
    parts = look.shows([PARTS], "probe user", never=("'text'", '"text"'))
    objects = look.shows(with_object, "probe_value", never=PYTHON_DICT[:1], tools=[TOOL])
    strings = look.shows(with_text, "probe_value", never=('\\"probe_key', '\\"probe_value'), tools=[TOOL])
    first = with_object if objects else with_text
    two = calling("", call({"probe_key": "value_one"}), call({"probe_key": "value_two"}, id="call00002"))
    thinking = [USER, {**first[1], "content": "probe text", "thinking": "probe thought", "reasoning": "probe thought"}]
    null = calling(None, *first[1]["tool_calls"])
    return Abilities(
        text=look.shows([USER], "probe user") or not look.shows([PARTS], "probe user"),
        parts=parts,
        system=look.shows([SYSTEM, USER], "probe system"),
        developer=look.shows([DEVELOPER, USER], "probe developer"),
        objects=objects,
        strings=strings,
        null=look.text(null, tools=[TOOL]) == look.text(first, tools=[TOOL]) != "",
        tools=look.shows([USER], "probe_tool", tools=[TOOL]) or look.shows([SYSTEM, USER], "probe_tool", tools=[TOOL]),
        calls=objects or strings,
        results=look.shows([*first, result], "probe result", tools=[TOOL]),
        parallel=look.shows(two, "value_one", "value_two", tools=[TOOL]),
        thoughts=not look.text(first, tools=[TOOL]) or bool(look.text(thinking, tools=[TOOL])),
    )
