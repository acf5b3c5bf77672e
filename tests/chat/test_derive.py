"""A format found in a template's own renderings: what no declaration knows is read all the same."""

import json
from typing import Any

import pytest

from llama.chat import ChatTemplate, MessageParser, Templates, prepare
from llama.chat.derive import derived, format_for
from llama.chat.reader import ReadOptions
from llama.grammar import compile_grammar

PAIRS = "{% for k, v in c.function.arguments.items() %}"
HEAD = "{% for t in tools or [] %}{{ t | tojson }}{% endfor %}{% for m in messages %}[{{ m.role }}]{{ m.content }}"
TAIL = "[/{{ m.role }}]{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"
EACH = "{% for c in m.tool_calls or [] %}"
ONE = '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}'
WAYS = {
    "json": EACH + "<call>" + ONE + "</call>{% endfor %}",
    "json in a section": "{% if m.tool_calls %}<calls>\n"
    + EACH
    + "<call>"
    + ONE
    + "</call>\n{% endfor %}</calls>{% endif %}",
    "json list": "{% if m.tool_calls %}<<tools>>["
    + EACH
    + ONE
    + "{{ ', ' if not loop.last }}{% endfor %}]<</tools>>{% endif %}",
    "bare json": EACH + ONE + "{% endfor %}",
    "head": EACH + "@@{{ c.function.name }}@@{{ c.function.arguments | tojson }}@@end{% endfor %}",
    "tags": EACH + "<do {{ c.function.name }}>\n" + PAIRS + "<arg {{ k }}>{{ v }}</arg>\n{% endfor %}</do>{% endfor %}",
    "python": "{% if m.tool_calls %}<py>["
    + EACH
    + "{{ c.function.name }}("
    + PAIRS
    + "{{ k }}={{ v | tojson }}{{ ', ' if not loop.last }}{% endfor %})"
    + "{{ ', ' if not loop.last }}{% endfor %}]</py>{% endif %}",
}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "n": {"type": "integer"}}},
        },
    }
    for name in ("weather", "news")
]
SCHEMAS = {tool["function"]["name"]: tool["function"]["parameters"] for tool in TOOLS}  # type: ignore[index]


def written(template: ChatTemplate, calls: list[tuple[str, dict[str, Any]]]) -> str:
    turn = {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": name, "arguments": a}} for name, a in calls
        ],
    }
    return template.render([turn], add_generation_prompt=False).removeprefix("[assistant]").removesuffix("[/assistant]")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("count", [1, 2])
def test_an_unknown_family_is_read(way: str, count: int) -> None:
    template = ChatTemplate(HEAD + WAYS[way] + TAIL)
    if way == "bare json" and count == 2:
        pytest.skip("calls without any marker come alone")
    calls: list[tuple[str, dict[str, Any]]] = [("weather", {"city": "Os lo", "n": 3}), ("news", {"city": "x"})][:count]
    text = "" if way == "bare json" else "Sure. "
    text += written(template, calls)
    format = format_for(template)
    assert format.name == "derived"
    for pieces in ([text], list(text)):
        parser = MessageParser(format, ReadOptions(tools=SCHEMAS))
        for piece in pieces:
            parser.feed(piece)
        parser.flush()
        found: Any = parser.message.get("tool_calls", [])
        assert [(c["function"]["name"], json.loads(c["function"]["arguments"])) for c in found] == calls
        assert (parser.message["content"] or "").strip() in ("", "Sure.")


@pytest.mark.parametrize("way", WAYS)
def test_its_grammar_compiles(way: str) -> None:
    template = ChatTemplate(HEAD + WAYS[way] + TAIL)
    plan = prepare(Templates(template), [{"role": "user", "content": "?"}], tools=TOOLS, tool_choice="required")
    assert plan.format == "derived"
    assert plan.grammar is not None
    compile_grammar(plan.grammar)


@pytest.mark.parametrize(
    "name", ["Qwen-Qwen2.5-7B-Instruct", "Qwen3-Coder", "GLM-4.6", "MiniMax-M2", "deepseek-ai-DeepSeek-V3.1"]
)
def test_families_that_are_declared_could_be_derived(template_text: Any, name: str) -> None:
    assert derived(ChatTemplate(template_text(name))) is not None


def test_a_template_without_calls_gives_none() -> None:
    assert format_for(ChatTemplate("{{ messages[0].content }}")).name == "generic"
