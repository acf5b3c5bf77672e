"""What a chat request asks of this package, besides its messages and tools."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from llama.chat.normalise import copied
from llama.errors import InvalidRequest

RESERVED = ("messages", "tools", "add_generation_prompt", "continue_final_message", "now")  # other fields say these
REASONING_FORMATS = ("none", "auto", "deepseek", "deepseek-legacy")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """How to make the prompt and read the answer. None is "not said"."""

    parallel_tool_calls: bool | None = None
    response_schema: Any = None  # a JSON Schema that the answer must follow
    grammar: str | None = None  # GBNF that the answer must follow
    reasoning_format: str | None = "auto"
    enable_thinking: bool | None = None
    reasoning_effort: str | None = None
    thinking_forced_open: bool = False
    add_generation_prompt: bool | None = None
    continue_final_message: bool | str | None = None
    prefill_assistant: bool = True
    parse_tool_calls: bool = True
    kwargs: Mapping[str, Any] | None = None
    echo: bool | None = None
    now: datetime.datetime | None = None
    thinks: bool = field(init=False, default=True)

    def __post_init__(self) -> None:
        if (self.reasoning_format or "auto") not in REASONING_FORMATS:
            known = ", ".join(REASONING_FORMATS)
            raise InvalidRequest(
                f"Unknown reasoning format: {self.reasoning_format}; it must be one of {known}", "reasoning_format"
            )
        said = (self.kwargs or {}).get("enable_thinking", self.enable_thinking)
        if said is not None and not isinstance(said, bool):
            kind = type(said).__name__.replace("str", "string")
            raise InvalidRequest(
                f'invalid type for "enable_thinking" (expected boolean, got {kind})', "enable_thinking"
            )
        object.__setattr__(self, "thinks", said if said is not None else self.reasoning_effort != "none")

    def variables(self, template: str) -> dict[str, Any]:
        """The template's variables, besides messages and tools."""
        today = self.now or datetime.datetime.now()
        values: dict[str, Any] = {"enable_thinking": self.thinks, "datetime": today.strftime("%b %d %Y")}
        if "date_string" in template and "strftime_now" not in template:
            values["date_string"] = today.strftime("%d %b %Y")
        if self.reasoning_effort not in (None, "none"):
            values["reasoning_effort"] = self.reasoning_effort
        values |= {"preserve_thinking": True, "clear_thinking": False, "truncate_history_thinking": False}
        given = {str(name): copied(value) for name, value in (self.kwargs or {}).items() if name not in RESERVED}
        return {**values, **given}
