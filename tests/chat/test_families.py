"""What models of each family write, read whole and letter by letter."""

import json
from typing import Any

import pytest

from llama.chat import MessageParser
from llama.chat.format import THINK
from llama.chat.formats import FORMATS
from llama.chat.reader import ReadOptions

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
POINT = {"type": "object", "properties": {"x": {"type": "number"}, "label": TEXT}}
TOOLS: dict[str, Any] = {
    "add": {"type": "object", "properties": {"a": WHOLE, "b": WHOLE}},
    "run": {"type": "object", "properties": {"code": TEXT}},
    "draw": {
        "type": "object",
        "properties": {
            "point": POINT,
            "tags": {"type": "array", "items": TEXT},
            "points": {"type": "array", "items": POINT},
            "filter": {"anyOf": [TEXT, {"type": "array", "items": TEXT}]},
        },
    },
    "now": {"type": "object"},
}
BY_NAME = {format.name: format for format in FORMATS}
NS = "]<]minimax[>["
ATEM = (
    '<atem:function_calls>\n<atem:invoke name="add">\n<atem:parameter name="a">1</atem:parameter>\n</atem:invoke>\n'
    "</atem:function_calls>"
)
DSML = (
    '<｜DSML｜invoke name="{name}">\n<｜DSML｜parameter name="{key}" string="{kind}">1</｜DSML｜parameter>\n'
    "</｜DSML｜invoke>"
)
OPEN, SEP, CLOSE = "<|open|>", "<|sep|>", "<|close|>"
K3_ARGUMENT = f'{OPEN}argument key="code" type="string"{SEP}1{CLOSE}argument{SEP}'
K3_CALL = f'{OPEN}call tool="run" index="1"{SEP}{K3_ARGUMENT}{CLOSE}call{SEP}'
ADD = ("add", {"a": 1})

# format, the prompt's part of the answer, output, content, reasoning, calls
CASES: list[tuple[str, str, str, str | None, str, list[Any]]] = [
    ("hermes", "", '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>', None, "", [ADD]),
    ("hermes", "<think>\n", "hm</think>\n\nyes", "yes", "hm", []),
    ("llama3", "", '{"name": "add", "parameters": {"a": 1}}', None, "", [ADD]),
    ("llama3", "", '{"type": "function", "name": "add", "parameters": {"a": 1}}', None, "", [ADD]),
    ("llama3", "", '<|python_tag|>{"name": "add", "parameters": {"a": 1}}', None, "", [ADD]),
    ("llama3", "", '{"name": "other", "parameters": {}}', '{"name": "other", "parameters": {}}', "", []),
    ("mistral-nemo", "", '[TOOL_CALLS][{"name": "add", "arguments": {"a": 1}, "id": "123456789"}]', None, "", [ADD]),
    ("mistral-small", "", 'Hi[TOOL_CALLS]add[CALL_ID]123456789[ARGS]{"a": 1}', "Hi", "", [ADD]),
    ("devstral", "", '[TOOL_CALLS]add[ARGS]{"a": 1}[TOOL_CALLS]now[ARGS]{}', None, "", [ADD, ("now", {})]),
    ("command-r7b", "<|START_THINKING|>", "hm<|END_THINKING|><|START_TEXT|>Hi<|END_TEXT|>", "Hi", "hm", []),
    ("command-r-plus", "", 'Action:\n```json\n[{"tool_name": "add", "parameters": {"a": 1}}]\n```', None, "", [ADD]),
    ("firefunction", "", ' functools[{"name": "add", "arguments": {"a": 1}}]', None, "", [ADD]),
    (
        "functionary-3.1",
        "",
        'Hi<function=add>{"a": 1}</function><function=now>{}</function>',
        "Hi",
        "",
        [ADD, ("now", {})],
    ),
    ("functionary-3.2", "", 'all\nHi>>>add\n{"a": 1}>>>now\n{}', "Hi", "", [ADD, ("now", {})]),
    (
        "harmony",
        "",
        '<|channel|>commentary to=functions.add <|constrain|>json<|message|>{"a": 1}<|call|>',
        None,
        "",
        [ADD],
    ),
    (
        "harmony",
        "",
        "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Hi",
        "Hi",
        "hm",
        [],
    ),
    ("harmony", "", "no channel at all", "no channel at all", "", []),
    ("granite-3", "", '<|tool_call|>[{"name": "add", "arguments": {"a": 1}}]', None, "", [ADD]),
    ("granite-3", "", "<think>hm</think><response>Hi</response>", "Hi", "hm", []),
    ("kimi-k3", f"{OPEN}think{SEP}", f"hm{CLOSE}think{SEP}{OPEN}response{SEP}Hi{CLOSE}response{SEP}", "Hi", "hm", []),
    (
        "kimi-k3",
        "",
        f"{OPEN}tools{SEP}{K3_CALL}{CLOSE}tools{SEP}{CLOSE}message{SEP}",
        None,
        "",
        [("run", {"code": "1"})],
    ),
    ("deepseek-v3.2", "", DSML.format(name="add", key="a", kind="false"), None, "", [ADD]),
    ("deepseek-v4", "", DSML.format(name="run", key="code", kind="true"), None, "", [("run", {"code": "1"})]),
    (
        "deepseek-r1",
        "",
        '<｜tool▁call▁begin｜>function<｜tool▁sep｜>add\n```json\n{"a": 1}\n```<｜tool▁call▁end｜>',
        None,
        "",
        [ADD],
    ),
    ("nemotron-v2", "", '<TOOLCALL>[{"name": "add", "arguments": {"a": 1}}]</TOOLCALL>', None, "", [ADD]),
    ("apertus", "", '<|tools_prefix|>[{"add": {"a": 1}}, {"now": {}}]<|tools_suffix|>', None, "", [ADD, ("now", {})]),
    ("apriel-1.6", "Here are my steps:\n", "hm\n[BEGIN FINAL RESPONSE]\nHi", "Hi", "Here are my steps:\nhm", []),
    ("gigachat-3.1", "", 'Hi<|function_call|>{"name": "add", "arguments": {"a": 1}}', "Hi", "", [ADD]),
    (
        "lfm2",
        "",
        "<|tool_call_start|>[add(a=1, b=-2), run(code='x\\'y')]<|tool_call_end|>",
        None,
        "",
        [("add", {"a": 1, "b": -2}), ("run", {"code": "x'y"})],
    ),
    (
        "lfm2",
        "",
        '<|tool_call_start|>[draw(point={"x": 1.5}, tags=["a"], filter=None)]<|tool_call_end|>',
        None,
        "",
        [("draw", {"point": {"x": 1.5}, "tags": ["a"], "filter": None})],
    ),
    (
        "minimax-m1",
        "",
        '<tool_calls>\n{"name": "add", "arguments": {"a": 1}}\n{"name": "now"}\n</tool_calls>',
        None,
        "",
        [ADD, ("now", {})],
    ),
    (
        "minimax-m2",
        "",
        '<minimax:tool_call>\n<invoke name="add">\n<parameter name="a">1</parameter>\n</invoke>\n</minimax:tool_call>',
        None,
        "",
        [ADD],
    ),
    ("minimax-m3", "", "</mm:think>Hi", "Hi", "", []),
    (
        "minimax-m3",
        "",
        f'{NS}<tool_call>\n{NS}<invoke name="draw">{NS}<point>{NS}<x>1.5{NS}</x>{NS}</point>{NS}<tags>{NS}<item>a'
        f"{NS}</item>{NS}</tags>{NS}<points>{NS}<item>{NS}<label>b{NS}</label>{NS}</item>{NS}</points>{NS}<filter>c{NS}</filter>"
        f"{NS}</invoke>\n{NS}</tool_call>",
        None,
        "",
        [("draw", {"point": {"x": 1.5}, "tags": ["a"], "points": [{"label": "b"}], "filter": "c"})],
    ),
    (
        "seed-oss",
        "",
        "<seed:think>hm</seed:think><seed:tool_call>\n<function=run>\n<parameter=code>a\n</parameter>\n</function>\n</seed:tool_call>",
        None,
        "hm",
        [("run", {"code": "a\n"})],
    ),
    (
        "glm",
        "",
        "<tool_call>add<arg_key>a</arg_key><arg_value>1</arg_value></tool_call><tool_call>now</tool_call>",
        None,
        "",
        [ADD, ("now", {})],
    ),
    (
        "qwen3-coder",
        "<think>\n",
        "hm\n<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
        None,
        "hm",
        [ADD],
    ),
    (
        "gemma-4",
        "",
        'Hi<|tool_call>call:draw{point:{x:1.5,label:<|"|>a "b"<|"|>},tags:[]}<tool_call|>',
        "Hi",
        "",
        [("draw", {"point": {"x": 1.5, "label": 'a "b"'}, "tags": []})],
    ),
    ("gemma-4", "", "<|channel><|channel>thought\n<channel|>Hi<channel|>", "Hi", "", []),
    (
        "minicpm5",
        "",
        '<function name="run"><param name="code"><![CDATA[<b></param>]]></param></function>',
        None,
        "",
        [("run", {"code": "<b></param>"})],
    ),
    (
        "hunyuan-3",
        "",
        "<tool_calls:x>\n<tool_call:opensource>add<tool_sep:x>\n<arg_key:x>a</arg_key:x>\n<arg_value:x>1</arg_value:x>\n"
        "</tool_call:opensource>",
        "<tool_calls:x>",
        "",
        [ADD],
    ),
    (
        "solar-open",
        "",
        "<|think|>hm<|end|><|begin|>assistant<|tool_calls|><|tool_call:begin|>i<|tool_call:name|>add"
        '<|tool_call:args|>{"a": 1}'
        "<|tool_call:end|><|calls|>",
        None,
        "hm",
        [ADD],
    ),
    ("muse", "", f" to=user<|message|>Hi<|eom|><|start|>assistant to=add<|message|>{ATEM}<|eot|>", "Hi", "", [ADD]),
    (
        "muse",
        "",
        f" to=self<|message|>{ATEM}?<|eom|><|start|>assistant to=user<|message|>No.<|eot|>",
        "No.",
        f"{ATEM}?",
        [],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[f"{number}-{case[0]}" for number, case in enumerate(CASES)])
def test_a_familys_output(case: Any) -> None:
    name, begun, output, content, reasoning, calls = case
    format = BY_NAME[name]
    for pieces in ([output], list(output), [output[: len(output) // 2], output[len(output) // 2 :]]):
        parser = MessageParser(format, ReadOptions(tools=TOOLS, thought=format.thought or THINK), begun)
        for piece in pieces:
            parser.feed(piece)
        parser.flush()
        message: Any = parser.message
        assert message["content"] == content
        assert message.get("reasoning_content", "") == reasoning
        found = [call["function"] for call in message.get("tool_calls", [])]
        assert [(function["name"], json.loads(function["arguments"])) for function in found] == calls


def test_every_family_has_a_name_of_its_own() -> None:
    elsewhere = {"granite-4", "apriel", "gigachat-3", "kimi-k2", "deepseek-v3.1"}  # in the shared cases
    assert len(BY_NAME) == len(FORMATS)
    assert {case[0] for case in CASES} | elsewhere == set(BY_NAME)
