"""Any cutting of the text gives the same message, and nothing that was said is taken back."""

from itertools import pairwise
from typing import Any

import pytest

from llama.chat import ContentDelta, MessageParser, ReasoningDelta, ToolCallArguments, ToolCallStart
from llama.chat.begun import begun
from llama.chat.deltas import Collector
from llama.chat.format import THINK
from llama.chat.formats import FORMATS, format_of, generic, hermes, qwen_coder, thought_of
from llama.chat.reader import ReadOptions, tool_schemas

TOOLS = {
    "f": {"type": "object", "properties": {"a": {"type": "integer"}, "s": {"type": "string"}}},
    "now": {"type": "object", "properties": {}},
}


def read(
    text: str, *, format: Any = hermes.FORMAT, cut: bool = False, pieces: list[str] | None = None, **options: Any
) -> Any:
    defaults: dict[str, Any] = {"tools": TOOLS, "thought": THINK}
    parser = MessageParser(format, ReadOptions(**{**defaults, **options}))
    deltas = [delta for piece in pieces or [text] for delta in parser.feed(piece)]
    deltas += parser.flush(partial=cut)
    collector = Collector()
    collector.add(deltas)
    assert collector.message == parser.message
    return parser.message


def calls(message: Any) -> list[tuple[str, str]]:
    return [(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls", [])]


def test_every_cut_of_every_shared_case_gives_the_same_message(parse_cases: Any, template_text: Any) -> None:
    for case in parse_cases["cases"]:
        template = template_text(case["template"])
        tools = [{"function": parse_cases["tools"][name]} for name in case.get("tools", [])]
        format = format_of(template)
        thought = thought_of(template, format)
        prefill = case["messages"][-1]["content"] if case.get("continue_final_message") else ""
        options = ReadOptions(
            tools=tool_schemas(tools) if case.get("tool_choice") != "none" else {},
            reasoning=case["reasoning_format"],
            thought=thought,
            fenced=case.get("json_schema") is not None,
        )
        start, output = begun(format, thought, case["generation_prompt"], prefill), case["output"]

        def message(*pieces: str) -> Any:
            parser = MessageParser(format, options, start)  # noqa: B023
            for piece in pieces:
                parser.feed(piece)
            parser.flush(case.get("partial", False))  # noqa: B023
            return parser.message

        whole = message(output)
        assert message(*output) == whole, case["id"]
        for at in range(1, len(output), 1 if len(output) < 150 else 3):
            assert message(output[:at], output[at:]) == whole, (case["id"], at)


def test_deltas_come_as_a_client_wants_them() -> None:
    parser = MessageParser(hermes.FORMAT, ReadOptions(tools=TOOLS, thought=THINK, new_id=lambda: "call_1"))
    text = '<think>Hmm</think>\n\nSure.\n<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
    cuts = [0, 9, 14, 18, 25, 31, 57, 71, len(text)]
    pieces = [text[start:end] for start, end in pairwise(cuts)]
    deltas = [delta for piece in pieces for delta in parser.feed(piece)] + parser.flush()
    assert deltas == [
        ReasoningDelta("Hm"),
        ReasoningDelta("m"),
        ContentDelta("Sure."),
        ToolCallStart(0, "call_1", "f"),
        ToolCallArguments(0, '{"a": '),
        ToolCallArguments(0, "1}"),
    ]


@pytest.mark.parametrize(
    "text",
    ["a < b", "<tool", "<tool_call>", "<tool_call>x", '<tool_call>{"name": "g"}</tool_call>', "{", "</tool_call>"],
)
def test_what_is_no_call_is_answer(text: str) -> None:
    assert read(text) == {"role": "assistant", "content": text}


@pytest.mark.parametrize("format", [*FORMATS, generic.FORMAT], ids=lambda format: format.name)
@pytest.mark.parametrize(
    "text",
    ["", "{", "<|", '{"name": "f", "arguments": {"a": [}}', "<think>\n</think>\n", ">>>", "[", "}}]]", "<function=f>"],
)
def test_odd_text_never_raises(format: Any, text: str) -> None:
    for marker in ("", format.markers.begin, format.markers.section_begin + format.markers.begin):
        for cut in (False, True):
            whole = read(marker + text, format=format, cut=cut, thought=format.thought or THINK)
            assert (
                read("", format=format, cut=cut, thought=format.thought or THINK, pieces=list(marker + text) or [""])
                == whole
            )


def test_arguments_that_are_missing_are_an_empty_object() -> None:
    for text in ('{"name":"now","arguments":null}', '{"name":"now"}', '{"name":"now","arguments":""}'):
        assert calls(read(f"<tool_call>{text}</tool_call>")) == [("now", "{}")]


def test_arguments_in_a_string_are_unpacked() -> None:
    assert calls(read('<tool_call>{"name":"f","arguments":"{\\"a\\": 1}"}</tool_call>')) == [("f", '{"a": 1}')]


def test_arguments_before_the_name_wait_for_it() -> None:
    assert calls(read('<tool_call>{"arguments": {"a": 1}, "name": "f"}</tool_call>')) == [("f", '{"a": 1}')]


def test_values_in_tags_have_the_types_of_the_schema() -> None:
    text = "<function=f>\n<parameter=a>\n3\n</parameter>\n<parameter=s>\n12\n</parameter>\n</function>"
    assert calls(read(text, format=qwen_coder.FORMAT)) == [("f", '{"a":3,"s":"12"}')]


def test_a_cut_call_keeps_what_came() -> None:
    message = read('<tool_call>\n{"name": "f", "arguments": {"s": "Par', cut=True)
    assert calls(message) == [("f", '{"s": "Par')]


def test_each_choice_of_reasoning_format() -> None:
    text = "<think>why</think>because"
    assert read(text, reasoning="none") == {"role": "assistant", "content": text}
    for name in ("auto", "deepseek"):
        assert read(text, reasoning=name) == {"role": "assistant", "content": "because", "reasoning_content": "why"}
    legacy = read(text, reasoning="deepseek-legacy")
    assert legacy == {"role": "assistant", "content": text, "reasoning_content": "why"}


def test_long_answers_are_read_in_linear_time() -> None:
    parser = MessageParser(hermes.FORMAT, ReadOptions(tools=TOOLS, thought=THINK))
    for _ in range(60_000):
        parser.feed("word ")
    parser.feed('<tool_call>{"name": "f", "arguments": {"s": "')
    for _ in range(60_000):
        parser.feed("word ")
    parser.flush()
    assert len(calls(parser.message)[0][1]) > 300_000
