"""The prompt of a conversation: rendered, with the last turn opened or left open, and its thought opened or closed."""

import datetime
import re
from dataclasses import dataclass
from typing import Any

from llama.chat.format import Thought
from llama.chat.request import ChatOptions
from llama.chat.template import ChatTemplate
from llama.errors import InvalidRequest, TemplateError

HALF_MARKER = re.compile(r"<[^<>\s]{0,40}$")


@dataclass(frozen=True, slots=True)
class Prompt:
    """The text, and where the assistant's turn begins in it. `prefill` is what that turn already says."""

    text: str
    turn: int
    prefill: str = ""
    continued: bool = False

    @property
    def generation(self) -> str:
        """The end of the prompt that opens the assistant's turn."""
        return self.text[self.turn :]


def continues(messages: list[dict[str, Any]], options: ChatOptions) -> str:
    """What of the last message is continued: "content", "reasoning_content" or nothing. Raises InvalidRequest."""
    asked = options.continue_final_message
    if asked and options.add_generation_prompt:
        raise InvalidRequest(
            "Cannot set both add_generation_prompt and continue_final_message to true.", "continue_final_message"
        )
    last = messages[-1]
    if last["role"] != "assistant":
        if asked:
            raise InvalidRequest(
                "continue_final_message needs an assistant message at the end", "continue_final_message"
            )
        return ""
    automatic = options.prefill_assistant and options.add_generation_prompt is not False and asked is None
    if not asked and not automatic:
        return ""
    if automatic and len(messages) > 1 and messages[-2]["role"] == "assistant":
        raise InvalidRequest("Cannot have 2 or more assistant messages at the end of the list.", "messages")
    if last.get("tool_calls"):
        raise InvalidRequest("Cannot continue an assistant message that contains tool calls.", "messages")
    return asked if isinstance(asked, str) else "content"


def make_prompt(
    template: ChatTemplate,
    messages: list[dict[str, Any]],
    tools: list[dict[str, Any]],
    options: ChatOptions,
    thought: Thought,
) -> Prompt:
    """The prompt of these messages. Raises TemplateError, InvalidRequest."""
    variables = options.variables(template.text)
    tools_or_none = tools or None
    now: datetime.datetime | None = options.now
    what = continues(messages, options)
    if not what:
        opens = options.add_generation_prompt is not False
        text = template.render(messages, tools_or_none, add_generation_prompt=opens, now=now, **variables)
        return opened(
            Prompt(text, turn_start(template, messages, tools_or_none, now, variables, text)), options, thought
        )
    before, last = messages[:-1], messages[-1]
    said, content = str(last.get("reasoning_content") or ""), text_of(last["content"])
    if what == "content":
        merged = {**last, "content": content}
        text = template.render([*before, merged], tools_or_none, continue_final_message=True, now=now, **variables)
        shows = options.thinks and options.reasoning_format != "none" and thought.end in template.text
        if not said or said in text or not shows:
            return Prompt(text, turn_start(template, before, tools_or_none, now, variables, text), content, True)
    base = template.render(before, tools_or_none, now=now, **variables)
    turn = turn_start(template, before, tools_or_none, now, variables, base)
    begun = base + ("" if thought.is_open(base[turn:]) else thought.start) + said
    if what == "content":
        return Prompt(begun + thought.end + content, turn, content, True)
    return Prompt(begun, turn, said, True)


def text_of(content: Any) -> str:
    """The content of a turn that is continued."""
    return "\n\n".join(part["text"] for part in content) if isinstance(content, list) else content or ""


def turn_start(
    template: ChatTemplate,
    messages: list[dict[str, Any]],
    tools: list[dict[str, Any]] | None,
    now: datetime.datetime | None,
    variables: dict[str, Any],
    text: str,
) -> int:
    """Where the text goes on behind these messages: what they make without a generation prompt ends there."""
    if not messages:
        return 0
    try:
        closed = template.render(messages, tools, add_generation_prompt=False, now=now, **variables)
    except TemplateError:
        return len(text)
    same = next((i for i, (a, b) in enumerate(zip(closed, text, strict=False)) if a != b), min(len(closed), len(text)))
    half = HALF_MARKER.search(text[:same])
    return half.start() if half else same


def opened(prompt: Prompt, options: ChatOptions, thought: Thought) -> Prompt:
    """The prompt with its thought closed if there is to be none, or opened if there must be one."""
    if options.add_generation_prompt is False:
        return prompt
    end = prompt.generation
    is_open = thought.is_open(end)
    if is_open and not options.thinks:
        return Prompt(prompt.text + thought.end, prompt.turn)
    if not is_open and options.thinking_forced_open:
        return Prompt(prompt.text + thought.start + "\n", prompt.turn)
    return prompt
