"""Our package behind the functions that the shared checker of chat cases calls."""

from typing import Any

from llama.chat import builtin
from llama.chat.begun import begun
from llama.chat.derive import format_for
from llama.chat.formats import thought_of
from llama.chat.parser import MessageParser
from llama.chat.reader import ReadOptions, tool_schemas
from llama.chat.template import compiled


def render(template: str, messages: Any, tools: Any, add_generation_prompt: bool, **kwargs: Any) -> str:
    """The prompt."""
    return compiled(template).render(messages, tools, add_generation_prompt=add_generation_prompt, **kwargs)


def render_builtin(name: str, messages: Any, add_generation_prompt: bool) -> str:
    """The prompt of a template known by name."""
    return builtin.render_builtin(name, messages, add_generation_prompt)


def parse(
    output: str,
    template: str,
    tools: Any,
    reasoning_format: str,
    partial: bool,
    *,
    messages: Any,
    tool_choice: Any,
    json_schema: Any,
    continue_final_message: Any,
    generation_prompt: str,
) -> dict[str, Any]:
    """The message. Ids that we would invent are left out, since they differ each time."""
    format = format_for(compiled(template))
    thought = thought_of(template, format)
    options = ReadOptions(
        tools=tool_schemas(tools) if tool_choice != "none" else {},
        reasoning=reasoning_format,
        thought=thought,
        fenced=json_schema is not None,
    )
    prefill = messages[-1]["content"] if continue_final_message else ""
    parser = MessageParser(format, options, begun(format, thought, generation_prompt, prefill))
    parser.feed(output)
    parser.flush(partial)
    return parser.message
