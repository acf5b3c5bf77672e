"""Bodies become calls; what binds the output may be said in many ways."""

from typing import Any

import pytest

from llama.api.call import Rule
from llama.api.parse import Defaults, chat_call, native_call, text_call
from llama.errors import InvalidRequest
from llama.sampling.params import SamplingParams

DEFAULTS = Defaults(sampling=SamplingParams(), n_predict=77, stop=("END",), n_keep=3)
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
HI = [{"role": "user", "content": "hi"}]


def text(**body: Any) -> Any:
    return text_call({"prompt": "x", **body}, DEFAULTS)


def chat(**body: Any) -> Any:
    return chat_call({"messages": HI, **body}, DEFAULTS)


def test_what_is_not_said_comes_from_the_defaults() -> None:
    call = text().call
    assert (call.n_predict, call.stop, call.n_keep) == (77, ("END",), 3)
    assert text(max_tokens=-1).call.n_predict == 77
    assert text(max_tokens=0).call.n_predict == 0
    assert text(stop=[]).call.stop == ()


def test_empty_stop_texts_are_dropped() -> None:
    assert text(stop=["", "x"]).call.stop == ("x",)


@pytest.mark.parametrize(("seed", "read"), [(-1, None), (4294967295, None), (-2, 4294967294), (42, 42), (2**32 + 5, 5)])
def test_seeds_are_32_bits(seed: int, read: int | None) -> None:
    assert text(seed=seed).call.sampling.seed == read


def test_names_of_other_servers() -> None:
    call = text(repetition_penalty=1.3, mirostat_mode=2).call
    assert (call.sampling.repeat_penalty, call.sampling.mirostat) == (1.3, 2)
    assert native_call({"prompt": "x", "logprobs": True}, DEFAULTS).call.sampling.n_probs == 1


@pytest.mark.parametrize("value", [0, -1, -0.5])
def test_a_repeat_penalty_must_be_positive_and_finite(value: float) -> None:
    with pytest.raises(InvalidRequest, match="finite and greater than 0"):
        text(repeat_penalty=value)


@pytest.mark.parametrize(
    "body",
    [
        {"json_schema": SCHEMA},
        {"guided_json": SCHEMA},
        {"structured_outputs": {"json": SCHEMA}},
        {"response_format": {"type": "json_schema", "schema": SCHEMA}},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": SCHEMA}}},
        {"response_format": {"type": "json_schema", "json_schema": SCHEMA}},
        {"response_format": {"type": "json_object", "schema": SCHEMA}},
        {"response_format": {"type": "json_object"}, "json_schema": SCHEMA},
    ],
)
def test_ways_to_say_a_schema(body: dict[str, Any]) -> None:
    for call in (text(**body).call, chat(**body).call):
        assert (call.rule.kind, call.rule.value) == ("schema", SCHEMA)


@pytest.mark.parametrize(
    "body",
    [{"response_format": {"type": "json_object"}}, {"response_format": {"type": "json_schema"}}, {"json_schema": {}}],
)
def test_any_object(body: dict[str, Any]) -> None:
    assert text(**body).call.rule.value == {"type": "object"}


@pytest.mark.parametrize("body", [{}, {"response_format": {"type": "text"}}, {"response_format": {}}, {"grammar": ""}])
def test_nothing_binds(body: dict[str, Any]) -> None:
    assert chat(**body).call.rule is None


def test_a_grammar_wins_over_a_schema_except_in_chat() -> None:
    assert text(grammar="root ::= 'a'", json_schema=SCHEMA).call.rule.kind == "grammar"
    with pytest.raises(InvalidRequest, match="both"):
        chat(grammar="root ::= 'a'", json_schema=SCHEMA)
    with pytest.raises(InvalidRequest, match="guided_choice"):
        text(grammar="root ::= 'a'", guided_choice=["a"])


def test_the_default_rule_applies_when_none_is_sent() -> None:
    rule = Rule("grammar", 'root ::= "a"', "grammar")
    defaults = Defaults(sampling=SamplingParams(), rule=rule)
    assert text_call({"prompt": "x"}, defaults).call.rule is rule
    assert text_call({"prompt": "x", "json_schema": SCHEMA}, defaults).call.rule.value == SCHEMA


def test_lazy_grammars_need_triggers() -> None:
    body = {"grammar": 'root ::= "a"', "grammar_lazy": True}
    with pytest.raises(InvalidRequest, match="grammar_triggers"):
        text(**body)
    call = text(**body, grammar_triggers=[{"type": 1, "value": "<x>"}, {"type": 0, "value": "", "token": 7}]).call
    assert [(t.kind, t.value, t.token) for t in call.triggers] == [("word", "<x>", None), ("token", "", 7)]
    for wrong in ([5], [{"type": 9, "value": "x"}], [{"type": 0, "value": "x"}], [{"type": 1, "value": 5}]):
        with pytest.raises(InvalidRequest, match="grammar_triggers"):
            text(**body, grammar_triggers=wrong)


@pytest.mark.parametrize(
    ("body", "logprobs"),
    [
        ({}, None),
        ({"logprobs": False}, None),
        ({"logprobs": True}, 20),
        ({"logprobs": True, "top_logprobs": 0}, 0),
        ({"logprobs": True, "top_logprobs": 5}, 5),
        ({"logprobs": 3}, 3),
        ({"n_probs": 2}, 2),
    ],
)
def test_logprobs_of_chat(body: dict[str, Any], logprobs: int | None) -> None:
    assert chat(**body).logprobs == logprobs


def test_functions_become_tools() -> None:
    call = chat(functions=[{"name": "f"}], function_call={"name": "f"})
    assert call.tools == [{"type": "function", "function": {"name": "f"}}]
    assert call.tool_choice == {"type": "function", "function": {"name": "f"}}
    assert call.legacy_functions


def test_stream_options() -> None:
    assert text(stream_options={"include_usage": True}).call.include_usage
    with pytest.raises(InvalidRequest, match="include_usage"):
        text(stream_options={"include_usage": "yes"})


@pytest.mark.parametrize("id", ["", "x" * 129, "a\nb"])
def test_request_ids_have_limits(id: str) -> None:
    with pytest.raises(InvalidRequest, match="request_id"):
        text(request_id=id)
