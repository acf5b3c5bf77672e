"""From a chat request to everything that is needed to answer it."""

import functools
from collections.abc import Sequence
from typing import Any

import regex

from llama.chat import described, ids, toolgrammar
from llama.chat.begun import begun
from llama.chat.conversation import checked
from llama.chat.derive import format_for
from llama.chat.format import TOKEN, ChatFormat, Thought
from llama.chat.formats import generic, may_think, thought_of
from llama.chat.plan import ChatPlan, Reading
from llama.chat.prompt import Prompt, make_prompt
from llama.chat.reader import ReadOptions
from llama.chat.request import ChatOptions
from llama.chat.templates import Templates
from llama.chat.tools import ToolUse, tool_use
from llama.chat.tools import described as described_fully
from llama.errors import InvalidRequest, SchemaError, TemplateError
from llama.grammar import Trigger


def prepare(
    templates: Templates, messages: Any, *, tools: Any = None, tool_choice: Any = None, **options: Any
) -> ChatPlan:
    """The plan for a conversation; `options` are the fields of ChatOptions.

    Raises InvalidRequest that names the field: TemplateError when the template refuses the messages, SchemaError for a
    schema that cannot be enforced.
    """
    return Preparation(templates, checked(messages), tool_use(tools, tool_choice), ChatOptions(**options)).plan()


class Preparation:
    """One request on its way to a plan."""

    def __init__(
        self, templates: Templates, messages: list[dict[str, Any]], use: ToolUse, options: ChatOptions
    ) -> None:
        self._templates = templates
        self._use = use
        self._options = options
        self._template = templates.choose(bool(use.shown))
        takes = self._template.abilities
        self._described = bool(use.shown) and not takes.tools
        self._format = format_for(self._template)
        if self._described and not (takes.calls and "NAME" in self._template.example_call):
            self._format = generic.FORMAT
        self._thought = thought_of(self._template.text, self._format)
        self._messages = self._shown_messages(messages)
        if options.grammar and use.callable:
            raise InvalidRequest("Cannot use custom grammar constraints with tools.", "grammar")

    def _shown_messages(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        takes = self._template.abilities
        plain = self._format is generic.FORMAT
        calls, results = plain or not takes.calls, plain or not takes.results
        messages = described.written_out(messages, calls, results)
        if self._described and self._use.callable:
            shown = [tool for tool in self._use.shown if tool["function"]["name"] in self._use.callable]
            example = described.EXAMPLE if plain else self._template.example_call
            messages = described.with_system_text(messages, described.system_text(shown, example))
        return ids.shortened(messages) if self._format.id_alphabet == "alnum9" else messages

    def plan(self) -> ChatPlan:
        """The plan."""
        shown = [] if self._described else self._use.shown
        prompt = self._prompt(shown)
        begins = begun(self._format, self._thought, prompt.generation, prompt.prefill)
        is_open = self._thought.is_open(begins)
        rules = toolgrammar.Rules(self._use.callable, self._templates.control)
        grammar, lazy = self._grammar(rules, is_open)
        return ChatPlan(
            prompt=self._templates.trimmed(prompt.text),
            generation_prompt=prompt.generation,
            format=self._format.name,
            grammar=grammar,
            lazy=lazy,
            triggers=self._triggers(is_open) if lazy else (),
            after=self._thought.end if is_open and grammar else None,
            preserved=self._preserved(),
            stops=self._templates.stops,
            thought=self._thought if is_open or self._thinks else None,
            thinking_open=is_open,
            reading=Reading(
                format=self._format,
                options=self._read_options,
                begun=begins,
                echo=not prompt.continued if self._options.echo is None else self._options.echo,
            ),
        )

    def _prompt(self, shown: list[dict[str, Any]]) -> Prompt:
        try:
            return make_prompt(self._template, self._messages, shown, self._options, self._thought)
        except TemplateError:
            if not shown:
                raise
        full = [described_fully(tool) for tool in shown]
        return make_prompt(self._template, self._messages, full, self._options, self._thought)

    @property
    def _thinks(self) -> bool:
        return self._options.thinks and may_think(self._template.text, self._format)

    def _read_options(self) -> ReadOptions:
        options = self._options
        reads = options.parse_tool_calls
        return ReadOptions(
            tools={name: schema or {} for name, schema in self._use.callable.items()} if reads else {},
            reasoning=options.reasoning_format or "auto",
            thought=self._thought,
            fenced=options.response_schema is not None,
            new_id=ids.maker(self._format.id_alphabet),
        )

    def _preserved(self) -> tuple[str, ...]:
        format, thought = self._format, self._thought
        texts = [*format.special(), *TOKEN.findall(thought.start), *TOKEN.findall(thought.end)]
        return tuple(dict.fromkeys(texts))

    def _grammar(self, rules: toolgrammar.Rules, is_open: bool) -> tuple[str | None, bool]:
        """The grammar, and whether it waits for a trigger."""
        ways = []
        answer = self._answer(rules)
        if self._use.callable:
            ways.append(toolgrammar.calls(self._format, rules, self._many))
        if answer and not self._use.required:
            ways.append(answer)
        if not ways:
            return None, False
        lazy = not answer and not self._use.required
        root = " | ".join(ways)
        if not lazy and not is_open and self._thinks:
            root = f"{toolgrammar.thinking(rules, self._thought)} ({root})"
        return f"root ::= {root}\n{rules}", lazy

    @property
    def _many(self) -> bool:
        asked = self._options.parallel_tool_calls
        return self._template.abilities.parallel if asked is None else asked

    def _answer(self, rules: toolgrammar.Rules) -> str | None:
        """GBNF for the answer that the request asks for."""
        options = self._options
        if options.response_schema is not None:
            try:
                root = rules.answer(options.response_schema)
            except SchemaError as error:
                error.field = "response_format"
                raise
        elif options.grammar:
            root = rules.include(options.grammar)
        else:
            return None
        before, behind = self._format.answer
        return f"{rules.text(before)} {root} {rules.text(behind)}"

    def _triggers(self, is_open: bool) -> tuple[Trigger, ...]:
        """What starts a lazy grammar: an opening marker that does not stand in a thought."""
        return triggers(
            self._format, tuple(self._use.callable), self._thought if self._thinks and not is_open else None
        )


@functools.lru_cache(maxsize=64)
def triggers(format: ChatFormat, names: Sequence[str], thought: Thought | None) -> tuple[Trigger, ...]:
    """The triggers of a format. With `thought`, the model may open one by itself, in which markers do not count."""
    tools = "|".join(regex.escape(name) for name in names)
    patterns = [pattern.replace("{names}", tools) for pattern in format.triggers]
    marker = (format.markers.section_begin or format.markers.begin).strip()
    if patterns:
        return tuple(Trigger("pattern", pattern) for pattern in patterns)
    if thought is None:
        return (Trigger("word", marker),)
    start, end = regex.escape(thought.start), regex.escape(thought.end)
    free = rf"\A(?:\s*{start}(?s:.*?){end}|(?!\s*{start}))(?s:.*?)({regex.escape(marker)})"
    return (Trigger("pattern", free),)
