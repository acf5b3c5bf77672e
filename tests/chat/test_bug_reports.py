"""User reports of kinds 4 (templates), 5 (tool calls) and 6 (reasoning), each with its number."""

import datetime
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from llama.chat import ChatTemplate, MessageParser, Templates, prepare
from llama.chat.format import THINK
from llama.chat.formats import hermes, qwen_coder
from llama.chat.reader import ReadOptions
from llama.errors import InvalidRequest, TemplateError

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "enum": ["Oslo", "Lima"]}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}
CALLS = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>"
    "{{ c.function | tojson }}</tool_call>{% endfor %}{% endfor %}{{ tools | tojson if tools }}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


@pytest.fixture(scope="module")
def reports(shared: Path) -> dict[str, Any]:
    lines = (shared / "cases" / "bugs" / "reports.jsonl").read_text().splitlines()
    return {report["id"]: report["input"] for report in map(json.loads, lines)}


def message(text: str, *, format: Any = hermes.FORMAT, tools: Any = None, start: str = "", pieces: Any = None) -> Any:
    options = ReadOptions(tools=tools or {name: {} for name in ("f", "now", "exec")}, thought=THINK)
    parser = MessageParser(format, options, start)
    for piece in pieces or [text]:
        parser.feed(piece)
    parser.flush()
    return parser.message


def call(answer: Any) -> tuple[str, Any]:
    (only,) = answer["tool_calls"]
    return only["function"]["name"], json.loads(only["function"]["arguments"])


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("B060", "[a]"),
        ("B061", "2"),
        ("B063", "hi"),
        ("B079", "U:x\nEND"),
        ("B070", "<assistant>"),
        ("B081", "cmd=date"),
    ],
)
def test_templates_render(reports: dict[str, Any], number: str, expected: str) -> None:
    case = reports[number]
    assert ChatTemplate(case["template"]).render(case["messages"], add_generation_prompt=False) == expected


def test_b064_the_clock_can_be_set(reports: dict[str, Any]) -> None:
    template = ChatTemplate(reports["B064"]["template"])
    assert template.render([], now=datetime.datetime(2026, 3, 7)) == "Today: 07 March 2026!"
    assert template.render([], now=datetime.datetime(2026, 3, 7), date_string="x") == "Today: 07 March 2026"


def test_b065_b066_b068_tojson_is_that_of_training(reports: dict[str, Any]) -> None:
    tools = reports["B065"]["tools"]
    assert ChatTemplate("{{ tools | tojson }}").run([], tools=tools) == json.dumps(tools, ensure_ascii=False)
    x = reports["B066"]["x"]
    expected = " ".join((json.dumps(x), json.dumps(x, indent=4), json.dumps(x, separators=(",", ":"))))
    assert ChatTemplate(reports["B066"]["template"]).run([], x=x) == expected
    assert ChatTemplate(reports["B068"]["template"]).run([], tools=[{"a": 1}]) == '<tool_call>{"a": 1}</tool_call>'


def test_b073_a_prefill_that_closes_its_thought_is_continued(template_text: Any, reports: dict[str, Any]) -> None:
    templates = Templates(ChatTemplate(template_text("Qwen-Qwen3-0.6B")))
    plan = prepare(templates, reports["B073"]["messages"], kwargs=reports["B073"]["chat_template_kwargs"])
    assert plan.prompt.endswith("Answer:")
    parser = plan.parser()
    parser.feed(" 4")
    parser.flush()
    assert parser.message == {"role": "assistant", "content": " 4"}


def test_b075_only_a_token_the_tokenizer_adds_is_cut(reports: dict[str, Any]) -> None:
    template = ChatTemplate(reports["B075"]["template"], "[gMASK]")
    text = "[gMASK]<sop><|user|>\nhi"
    assert prepare(Templates(template, add_bos=False), reports["B075"]["messages"]).prompt == text
    assert prepare(Templates(template, add_bos=True), reports["B075"]["messages"]).prompt == text.removeprefix(
        "[gMASK]"
    )


def test_b076_the_templates_own_sentence_is_the_error(reports: dict[str, Any]) -> None:
    with pytest.raises(TemplateError, match=r"^roles must alternate$"):
        ChatTemplate(reports["B076"]["template"]).render(reports["B076"]["messages"])


def test_b080_arguments_are_json_text(reports: dict[str, Any]) -> None:
    answer = message(reports["B080"]["stub_text"])
    assert isinstance(answer["tool_calls"][0]["function"]["arguments"], str)
    assert call(answer) == ("f", {"a": {"b": [1, 2]}})


def test_b084_a_named_function_is_the_only_one(reports: dict[str, Any]) -> None:
    tools = [{"type": "function", "function": {"name": name}} for name in reports["B084"]["tools"]]
    templates = Templates(ChatTemplate(CALLS))
    plan = prepare(templates, reports["B084"]["messages"], tools=tools, tool_choice=reports["B084"]["tool_choice"])
    assert plan.grammar is not None
    assert "get_time_utc" in plan.grammar
    assert "get_time_local" not in plan.grammar
    assert not plan.lazy
    for choice in ({"type": "function", "function": {"name": "x"}}, "any", 3, {"type": "function", "function": {}}):
        with pytest.raises(InvalidRequest) as error:
            prepare(templates, reports["B084"]["messages"], tools=tools, tool_choice=choice)
        assert error.value.field == "tool_choice"


def test_b087_no_arguments_are_an_empty_object(reports: dict[str, Any]) -> None:
    for text in reports["B087"]["stub_texts"]:
        assert message(text)["tool_calls"][0]["function"]["arguments"] == "{}"


def test_b089_history_in_all_its_forms(template_text: Any, reports: dict[str, Any]) -> None:
    for name in ("Qwen-Qwen2.5-7B-Instruct", "HuggingFaceTB-SmolLM2-135M-Instruct", "google-gemma-3-it"):
        prompt = prepare(Templates(ChatTemplate(template_text(name))), reports["B089"]["messages"]).prompt
        assert prompt.index("<tool_response>\n1") < prompt.index("<tool_response>\n2")


def test_b090_a_call_of_no_tool_is_answer(reports: dict[str, Any]) -> None:
    text = reports["B090"]["stub_text"]
    assert message(text, tools={"sum": {}}) == {"role": "assistant", "content": text}


def test_b091_types_follow_the_schema(reports: dict[str, Any]) -> None:
    tool = reports["B091"]["tool"]
    answer = message(reports["B091"]["stub_text"], format=qwen_coder.FORMAT, tools={"edit": tool["parameters"]})
    assert call(answer) == ("edit", {"path": "12", "line": 3, "all": True, "text": '{"k":1}'})


def test_b093_a_call_shows_once_and_a_greeting_is_no_call(reports: dict[str, Any]) -> None:
    first, second = reports["B093"]["stub_texts"]
    for pieces in ([first], list(first)):
        answer = message(first, pieces=pieces)
        assert answer["content"] is None
        assert call(answer) == ("exec", {"cmd": "ls"})
    assert message(second, pieces=list(second)) == {"role": "assistant", "content": second}


@pytest.mark.parametrize("name", ["Qwen-Qwen2.5-7B-Instruct", "Qwen3-Coder", "GLM-4.6"])
def test_b094_the_schema_binds_every_call(template_text: Any, name: str) -> None:
    tool = {**WEATHER, "function": {**WEATHER["function"], "strict": True}}  # type: ignore[dict-item]
    messages = [{"role": "user", "content": "Weather in Rome?"}]
    plan = prepare(Templates(ChatTemplate(template_text(name))), messages, tools=[tool])
    assert plan.lazy
    assert plan.grammar is not None
    assert "Oslo" in plan.grammar
    assert "Lima" in plan.grammar


def test_b097_a_thought_opened_by_the_prompt() -> None:
    pieces = ["internal", " reasoning</thi", "nk>", "\n\n", "answer"]
    answer = message("", start="<think>\n", pieces=pieces)
    assert answer == {"role": "assistant", "content": "answer", "reasoning_content": "internal reasoning"}


def test_b098_tags_in_the_answer_are_answer(reports: dict[str, Any]) -> None:
    answer = message(reports["B098"]["stub_text"])
    assert answer["reasoning_content"] == "plan"
    assert answer["content"] == "Write `<think>draft</think>` in your file."
    assert message(reports["B098"]["and_without"])["content"] == reports["B098"]["and_without"]


def test_b099_every_split_gives_the_same() -> None:
    text = '<think>a <b> c</think>\n\nd < e <tool_call>x\n<tool_call>{"name": "f"}</tool_call> g'
    whole = message(text)
    for size in (1, 2, 3, 4):
        assert message("", pieces=[text[at : at + size] for at in range(0, len(text), size)]) == whole


def test_b100_a_lone_end_of_thought_does_not_show() -> None:
    assert "</think>" not in message("Okay, so 2+2 ...</think>4")["content"]
    assert message("Okay, so 2+2 is 4") == {"role": "assistant", "content": "Okay, so 2+2 is 4"}


def test_b101_empty_thoughts_and_thoughts_before_calls(reports: dict[str, Any]) -> None:
    first, second = reports["B101"]["stub_texts"]
    assert message(first) == {"role": "assistant", "content": "Hi"}
    answer = message(second)
    assert (answer["content"], answer["reasoning_content"], call(answer)) == (None, "need f", ("f", {}))


def test_b102_an_answer_is_bound_behind_the_thought(template_text: Any, reports: dict[str, Any]) -> None:
    schema = reports["B102"]["response_format"]["json_schema"]["schema"]
    messages = [{"role": "user", "content": "q"}]
    opened = prepare(Templates(ChatTemplate(template_text("Qwen-QwQ-32B"))), messages, response_schema=schema)
    assert (opened.thinking_open, opened.after, opened.lazy) == (True, "</think>", False)
    free = Templates(ChatTemplate(template_text("Qwen-Qwen3-0.6B")))
    thinks = prepare(free, messages, response_schema=schema)
    assert thinks.after is None
    assert thinks.grammar is not None
    assert thinks.grammar.startswith('root ::= ("<think>"')
    quiet = prepare(free, messages, response_schema=schema, enable_thinking=False)
    assert quiet.grammar is not None
    assert "think" not in quiet.grammar.split("\n")[0]


# B135: templates that by their own text move something from turn to turn: tools, or the mark of the last user message
THAT_MOVE = {
    "CohereForAI-c4ai-command-r-plus-tool_use",
    "Mistral-Small-3.2-24B-Instruct-2506",
    "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use",
    "Qwen3.5-4B",
    "StepFun3.5-Flash",
    "inline-Mistral-Large-Instruct-2407-mistralai-v3-template-modified-to-have-system-prompt-at-start",
    "inline-Phi-3-small",
    "microsoft-Phi-3.5-mini-instruct",
    "mistralai-Mistral-Nemo-Instruct-2407",
}


def test_b135_a_tool_loop_only_appends(shared: Path) -> None:
    def called(number: int, arguments: str) -> dict[str, Any]:
        function = {"name": "get_weather", "arguments": arguments}
        call = {"id": f"call0000{number}", "type": "function", "function": function}
        return {"role": "assistant", "content": "", "tool_calls": [call]}

    turns = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "go"},
        called(1, '{"city": "Oslo"}'),
        {"role": "tool", "tool_call_id": "call00001", "name": "get_weather", "content": "wet"},
        called(2, '{"city": "Lima"}'),
        {"role": "tool", "tool_call_id": "call00002", "name": "get_weather", "content": "dry"},
        {"role": "assistant", "content": "Lima is dry."},
        {"role": "user", "content": "and then?"},
    ]
    moving = set()
    paths = sorted((shared / "chat" / "templates").glob("*.jinja"))
    for path in paths:
        templates = Templates(ChatTemplate(path.read_text(), "<s>", "</s>"))

        def prompt(count: int, templates: Templates = templates) -> str:
            return prepare(templates, turns[:count], tools=[WEATHER], add_generation_prompt=False).prompt

        prompts = [prompt(count) for count in (2, 4, 6, 8)]
        assert [prompt(count) for count in (2, 4, 6, 8)] == prompts, path.stem
        if not all(later.startswith(earlier) for earlier, later in pairwise(prompts)):
            moving.add(path.stem)
    assert moving == THAT_MOVE
    assert len(paths) >= 55
