"""From a request to a plan: checks, prompts, prefill, tools for templates that know none, what binds the output."""

import copy
import json
from typing import Any

import pytest

from llama.chat import ChatTemplate, Templates, load_templates, prepare
from llama.chat.builtin import builtin_names, builtin_text
from llama.chat.tools import checked_tools, described
from llama.errors import InvalidRequest, SchemaError, SettingsError, TemplateError
from llama.grammar import LazyConstraint, TokenTrie, compile_grammar

TRIE = TokenTrie([bytes([byte]) for byte in range(256)] + [b""], frozenset([256]), {})
USER = {"role": "user", "content": "Weather in Oslo?"}
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the weather.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "days": {"type": "integer"},
                "unit": {"enum": ["C", "F"]},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["city"],
        },
    },
}
CALL = {"id": "1", "type": "function", "function": {"name": "now", "arguments": ""}}
NOW = {"type": "function", "function": {"name": "now", "parameters": None}}
FAMILIES = [
    "Apertus-8B-Instruct",
    "ByteDance-Seed-OSS",
    "CohereForAI-c4ai-command-r7b-12-2024-tool_use",
    "GLM-4.6",
    "Kimi-K2-Instruct",
    "MiMo-VL",
    "MiniMax-M2",
    "Mistral-Small-3.2-24B-Instruct-2506",
    "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use",
    "Qwen-Qwen2.5-7B-Instruct",
    "Qwen-Qwen3-0.6B",
    "Qwen3-Coder",
    "Qwen3.5-4B",
    "StepFun3.5-Flash",
    "deepseek-ai-DeepSeek-V3.1",
    "ibm-granite-granite-4.0",
    "meetkai-functionary-medium-v3.2",
    "meta-llama-Llama-3.1-8B-Instruct",
    "mistralai-Mistral-Nemo-Instruct-2407",
    "openai-gpt-oss-120b",
    "poolside-Laguna-S-2.1",
]


def chatml() -> Templates:
    return Templates(ChatTemplate(builtin_text("chatml")))


def fits(grammar: str, text: str) -> bool:
    constraint = compile_grammar(grammar).constraint(TRIE)
    for byte in text.encode():
        if not constraint.accepts(byte):
            return False
        constraint.advance(byte)
    return constraint.may_end


def written(template: ChatTemplate, *calls: tuple[str, dict[str, Any]]) -> str:
    """How the template itself writes an assistant's turn with these calls."""
    turn = {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": f"abcdefgh{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for n, (name, arguments) in enumerate(calls)
        ],
    }
    tools = [described(tool) for tool in checked_tools([TOOL, NOW])]
    opened = template.render([USER], tools, enable_thinking=False)
    full = template.render([USER, turn], tools, add_generation_prompt=False, enable_thinking=False)
    answer = {"role": "assistant", "content": "XYZ"}
    plain = template.render([USER, answer], tools, add_generation_prompt=False, enable_thinking=False)
    same = next(at for at in range(len(full)) if full[: at + 1] != opened[: at + 1])
    return full[same:].removesuffix(plain[plain.rindex("XYZ") + 3 :])


@pytest.mark.parametrize("name", FAMILIES)
def test_what_a_template_writes_is_read_and_fits_the_grammar(template_text: Any, name: str) -> None:
    template = ChatTemplate(template_text(name))
    asked = {"city": 'Os"lo', "days": 3, "unit": "C", "tags": ["a", "b"]}
    text = written(template, ("get_weather", asked))
    plan = prepare(Templates(template), [USER], tools=[TOOL, NOW], tool_choice="required", enable_thinking=False)
    parser = plan.parser()
    parser.feed(text)
    parser.flush()
    (call,) = parser.message["tool_calls"]  # type: ignore[misc]
    assert json.loads(call["function"]["arguments"]) == asked
    if name != "ByteDance-Seed-OSS":  # its template writes Python lists, its grammar JSON
        bound = text.rpartition("</think>")[2].removesuffix("<|call|>").strip("\n")
        bound = bound.partition("<|END_OF_TURN_TOKEN|>")[0]
        assert plan.grammar is not None
        assert fits(plan.grammar, bound), bound


def test_a_lazy_grammar_waits_for_the_marker_outside_of_thoughts(template_text: Any) -> None:
    plan = prepare(Templates(ChatTemplate(template_text("Qwen-Qwen3-0.6B"))), [USER], tools=[TOOL])
    assert plan.lazy
    assert plan.grammar is not None
    constraint = LazyConstraint(compile_grammar(plan.grammar), TRIE, plan.triggers, plan.after)
    for byte in b"<think>maybe <tool_call> x</think>free text <tool_call>":
        assert constraint.accepts(byte)
        constraint.advance(byte)
    assert not constraint.accepts(ord("x"))
    for byte in b'\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>':
        assert constraint.accepts(byte)
        constraint.advance(byte)
    assert constraint.may_end


def test_a_template_without_tools_gets_them_in_the_system_text() -> None:
    history = [
        USER,
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "1", "content": "12:00"},
    ]
    before = copy.deepcopy(history)
    plan = prepare(chatml(), history, tools=[TOOL, NOW], tool_choice="required")
    assert history == before
    assert plan.prompt.startswith("<|im_start|>system\nYou can call the functions")
    assert '{"name": "now", "arguments": {}}\n</tool_call>' in plan.prompt
    assert "user\n<tool_response>\n12:00\n</tool_response>" in plan.prompt
    assert plan.grammar is not None
    assert fits(plan.grammar, '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>')
    assert not fits(plan.grammar, "Hello")


def test_without_tools_nothing_binds_and_nothing_is_read() -> None:
    plan = prepare(chatml(), [USER])
    assert (plan.grammar, plan.triggers, plan.lazy) == (None, (), False)
    assert plan.prompt == "<|im_start|>user\nWeather in Oslo?<|im_end|>\n<|im_start|>assistant\n"
    parser = plan.parser()
    parser.feed('<tool_call>{"name": "now"}</tool_call>')
    parser.flush()
    assert "tool_calls" not in parser.message


def test_tool_choice_none_shows_the_tools_and_reads_no_calls(template_text: Any) -> None:
    plan = prepare(
        Templates(ChatTemplate(template_text("Qwen-Qwen2.5-7B-Instruct"))), [USER], tools=[TOOL], tool_choice="none"
    )
    assert "get_weather" in plan.prompt
    assert plan.grammar is None


def test_parallel_calls_are_allowed_or_not() -> None:
    one = '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'
    for many in (True, False):
        plan = prepare(chatml(), [USER], tools=[NOW], tool_choice="required", parallel_tool_calls=many)
        assert plan.grammar is not None
        assert fits(plan.grammar, f"{one}\n{one}") is many


def test_tools_and_a_schema_leave_the_choice_between_call_and_answer() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    plan = prepare(chatml(), [USER], tools=[NOW], response_schema=schema)
    assert plan.grammar is not None
    assert not plan.lazy
    assert fits(plan.grammar, '{"n": 3}')
    assert fits(plan.grammar, '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>')
    assert not fits(plan.grammar, "three")


def test_a_users_grammar_binds_the_answer(template_text: Any) -> None:
    plan = prepare(
        Templates(ChatTemplate(template_text("Qwen-Qwen3-0.6B"))),
        [USER],
        grammar='root ::= item+\nitem ::= "root" | [ab]',
    )
    assert plan.grammar is not None
    assert fits(plan.grammar, "<think>\nhm\n</think>\n\nrootab")
    assert fits(plan.grammar, "b")
    assert not fits(plan.grammar, "c")
    with pytest.raises(InvalidRequest, match="Cannot use custom grammar constraints with tools") as error:
        prepare(chatml(), [USER], tools=[NOW], grammar='root ::= "a"')
    assert error.value.field == "grammar"


def test_a_bad_tool_schema_is_named() -> None:
    bad = {
        "type": "function",
        "function": {"name": "bad", "parameters": {"type": "object", "properties": {"x": {"type": "strin"}}}},
    }
    with pytest.raises(SchemaError) as error:
        prepare(chatml(), [USER], tools=[NOW, bad])
    assert error.value.field == "tools"
    assert '"bad"' in str(error.value)
    assert "tools[1].function.parameters/properties/x" in str(error.value)


@pytest.mark.parametrize(
    ("messages", "options", "field"),
    [
        ("hi", {}, "messages"),
        ([], {}, "messages"),
        (["hi"], {}, "messages"),
        ([{"content": "x"}], {}, "messages"),
        ([{"role": "user"}], {}, "messages"),
        ([{"role": "assistant"}], {}, "messages"),
        ([{"role": "user", "content": 3}], {}, "messages"),
        ([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}], {}, "messages"),
        ([{"role": "user", "content": [{"type": "hologram"}]}], {}, "messages"),
        ([USER, {"role": "assistant", "tool_calls": [{"function": {}}]}], {}, "messages"),
        ([USER, {"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}], {}, "messages"),
        ([USER], {"tools": 3}, "tools"),
        ([USER], {"tools": [3]}, "tools"),
        ([USER], {"tools": [{"type": "function"}]}, "tools"),
        ([USER], {"tools": [{"type": "function", "function": {"name": "f", "parameters": []}}]}, "tools"),
        ([USER], {"tool_choice": "required"}, "tool_choice"),
        ([USER], {"tool_choice": "sometimes"}, "tool_choice"),
        ([USER], {"reasoning_format": "loud"}, "reasoning_format"),
        ([USER], {"kwargs": {"enable_thinking": "yes"}}, "enable_thinking"),
        ([USER], {"continue_final_message": True}, "continue_final_message"),
    ],
)
def test_mistakes_are_named(messages: Any, options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as error:
        prepare(chatml(), messages, **options)
    assert error.value.field == field


def test_an_image_is_refused_without_promising_a_flag_that_has_no_effect() -> None:
    with pytest.raises(InvalidRequest, match=r"messages\[0\]\.content\[0\]: this server takes text only, no images"):
        prepare(chatml(), [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}])


def test_an_assistants_last_message_is_continued() -> None:
    messages = [USER, {"role": "assistant", "content": "It is"}]
    plan = prepare(chatml(), messages)
    assert plan.prompt.endswith("<|im_start|>assistant\nIt is")
    for echo, content in ((False, " cold"), (True, "It is cold")):
        parser = plan.parser(echo=echo)
        parser.feed(" cold")
        parser.flush()
        assert parser.message["content"] == content
    closed = prepare(chatml(), messages, prefill_assistant=False)
    assert closed.prompt.endswith("It is<|im_end|>\n<|im_start|>assistant\n")


def test_thoughts_are_opened_closed_and_continued(template_text: Any) -> None:
    qwq = Templates(ChatTemplate(template_text("deepseek-ai-DeepSeek-R1-Distill-Llama-8B")))
    assert prepare(qwq, [USER]).thinking_open
    assert prepare(qwq, [USER], enable_thinking=False).prompt.endswith("<think>\n</think>")
    assert prepare(qwq, [USER], reasoning_effort="none").prompt.endswith("</think>")
    forced = prepare(chatml(), [USER], thinking_forced_open=True)
    assert forced.prompt.endswith("<think>\n")
    assert forced.thinking_open
    begun = [USER, {"role": "assistant", "content": "", "reasoning_content": "I think"}]
    plan = prepare(qwq, begun, continue_final_message="reasoning_content", add_generation_prompt=False)
    parser = plan.parser(echo=True)
    parser.feed(" so</think>Yes")
    parser.flush()
    assert parser.message == {"role": "assistant", "content": "Yes", "reasoning_content": "I think so"}


def test_a_thought_opened_by_the_prompt_stays_in_the_content_when_asked(template_text: Any) -> None:
    plan = prepare(Templates(ChatTemplate(template_text("Qwen-QwQ-32B"))), [USER], reasoning_format="none")
    parser = plan.parser()
    parser.feed("hm</think>Yes")
    parser.flush()
    assert parser.message["content"] == "<think>\nhm</think>Yes"


def test_functions_of_the_first_form_are_understood() -> None:
    messages = [
        USER,
        {"role": "assistant", "content": None, "function_call": {"name": "now", "arguments": "{}"}},
        {"role": "function", "name": "now", "content": "12:00"},
    ]
    prompt = prepare(chatml(), messages, tools=[NOW]).prompt
    assert "<tool_call>" in prompt
    assert "12:00" in prompt


def test_mistral_ids_have_nine_characters(template_text: Any) -> None:
    templates = Templates(ChatTemplate(template_text("mistralai-Mistral-Nemo-Instruct-2407"), "<s>", "</s>"))
    call = {"id": "call_0123456789abcdef", "type": "function", "function": {"name": "now", "arguments": "{}"}}
    history = [
        USER,
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": "12:00"},
    ]
    assert "12:00" in prepare(templates, history, tools=[NOW]).prompt
    parser = prepare(templates, [USER], tools=[NOW]).parser()
    parser.feed('[TOOL_CALLS][{"name": "now", "arguments": {}}]')
    parser.flush()
    assert len(parser.message["tool_calls"][0]["id"]) == 9  # type: ignore[index]


class Vocab:
    bos, eos, add_bos, add_eos = 1, 2, True, False

    def text(self, token: int) -> str:
        return ["", "<s>", "</s>"][token]

    def token_id(self, text: str) -> int | None:
        return {"<s>": 1, "</s>": 2}.get(text)

    def is_control(self, token: int) -> bool:
        return True


class Chosen:
    def __init__(self, template: str | None = None, file: str | None = None) -> None:
        self.chat_template, self.chat_template_file = template, file


def test_where_the_template_comes_from(tmp_path: Any) -> None:
    own = {"tokenizer.chat_template": "{{ bos_token }}own", "tokenizer.chat_template.tool_use": "for tools"}
    templates = load_templates(Chosen(), own, Vocab())
    assert (templates.source, templates.tool_source) == ("{{ bos_token }}own", "for tools")
    assert prepare(templates, [USER]).prompt == "own"
    assert load_templates(Chosen("llama3"), own, Vocab()).source == builtin_text("llama3")
    assert load_templates(Chosen("{{ 1 }}"), own, Vocab()).source == "{{ 1 }}"
    (tmp_path / "t.jinja").write_text("{{ 2 }}")
    assert load_templates(Chosen(None, str(tmp_path / "t.jinja")), own, Vocab()).source == "{{ 2 }}"
    assert load_templates(Chosen(), {}, Vocab()).source == builtin_text("chatml")
    assert load_templates(Chosen(), {}, Vocab()).stops == ("<|im_end|>",)
    broken = load_templates(Chosen(), {"tokenizer.chat_template": "{% if %}"}, Vocab())
    assert broken.source == builtin_text("chatml")
    assert "ChatML" in broken.warning
    for name in ("no-such-name", "{% if %}"):
        with pytest.raises(SettingsError):
            load_templates(Chosen(name), {}, Vocab())


def test_every_name_of_llama_server_is_there() -> None:
    assert {"chatml", "llama2", "llama3", "gemma", "mistral-v7-tekken", "hunyuan-vl", "solar-open"} <= set(
        builtin_names()
    )
    for name in builtin_names():
        assert isinstance(prepare(Templates(ChatTemplate(builtin_text(name))), [USER]).prompt, str)


def test_a_template_error_carries_the_field() -> None:
    with pytest.raises(TemplateError) as error:
        ChatTemplate("{{ raise_exception('no') }}").render([USER])
    assert error.value.field == "messages"


def test_markers_that_are_control_tokens_may_come_as_such(template_text: Any) -> None:
    special = ["[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"]
    ids = {text: 257 + number for number, text in enumerate(special)}
    trie = TokenTrie([*TRIE.pieces, b"", b"", b""], frozenset([256]), ids)
    template = ChatTemplate(template_text("Mistral-Small-3.2-24B-Instruct-2506"))
    for choice in ("required", "auto"):
        plan = prepare(Templates(template, control=ids.get), [USER], tools=[NOW], tool_choice=choice)
        assert set(special) <= set(plan.preserved)
        assert plan.grammar is not None
        program = compile_grammar(plan.grammar)
        constraint = LazyConstraint(program, trie, plan.triggers) if plan.lazy else program.constraint(trie)
        for token in [257, *b"now", 258, *b"abcdefgh0", 259, *b"{}"]:
            assert constraint.accepts(token)
            constraint.advance(token)
        assert constraint.may_end


def test_template_variables_cannot_replace_the_conversation() -> None:
    kwargs = {
        "messages": [],
        "tools": [],
        "add_generation_prompt": False,
        "now": 1,
        "continue_final_message": True,
        "x": [1],
    }
    templates = Templates(
        ChatTemplate("{% set _ = x.append(2) %}{{ x }}{{ messages|length }}{{ add_generation_prompt }}")
    )
    assert prepare(templates, [USER], kwargs=kwargs).prompt == "[1, 2]1True"
    assert kwargs["x"] == [1]


def test_a_tools_result_may_be_an_object() -> None:
    history = [USER, {"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "content": {"t": 3}}]
    assert '{"t": 3}' in prepare(chatml(), history).prompt
