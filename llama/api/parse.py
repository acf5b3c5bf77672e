"""Turns request bodies into calls: the one place where a body is read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llama.api.call import Call, ChatCall, InfillCall, NativeCall, TextCall
from llama.api.field import array, boolean, integer, read_fields, wrong
from llama.api.generation_fields import CHAT_FIELDS, INFILL_FIELDS, NATIVE_FIELDS, TEXT_FIELDS
from llama.api.rule import read_preserved, read_rule, read_triggers
from llama.api.sampling_fields import sampling_params
from llama.errors import InvalidRequest
from llama.sampling.params import SamplingParams

Body = Mapping[str, Any]
PLAIN = {
    # what a Call calls a value: what the body does
    "model": "model",
    "logit_bias": "logit_bias",
    "bad_words": "bad_words",
    "n": "n",
    "stream": "stream",
    "stop_token_ids": "stop_token_ids",
    "include_stop": "include_stop_str_in_output",
    "cache_prompt": "cache_prompt",
    "lora": "lora",
    "n_keep": "n_keep",
    "n_discard": "n_discard",
    "n_indent": "n_indent",
    "t_max_predict_ms": "t_max_predict_ms",
    "id_slot": "id_slot",
    "progress": "return_progress",
    "timings_per_token": "timings_per_token",
    "ping_interval": "sse_ping_interval",
    "return_tokens": "return_tokens",
    "response_fields": "response_fields",
    "verbose": "verbose",
    "lazy": "grammar_lazy",
}


@dataclass(frozen=True, slots=True)
class Defaults:
    """What requests that do not say get."""

    sampling: SamplingParams
    logit_bias: Any = None
    n_predict: int = -1
    stop: tuple[str, ...] = ()
    cache_prompt: bool = True
    n_keep: int = 0
    ping_interval: int = 30
    special: bool = False
    max_choices: int = 128
    rule: Any = None


def text_call(body: Body, defaults: Defaults) -> TextCall:
    """The call that a body of /v1/completions makes. Raises InvalidRequest."""
    values = read_fields(TEXT_FIELDS, body)
    if "prompt" not in values:
        raise InvalidRequest("prompt is required", "prompt")
    call = _call(values, defaults)
    best_of = values.get("best_of", call.n)
    if best_of < call.n or best_of > defaults.max_choices:
        raise InvalidRequest(
            f"Field 'best_of': Value must be between {call.n} <= value <= {defaults.max_choices}, but got {best_of}",
            "best_of",
        )
    if best_of > call.n and call.stream:
        raise InvalidRequest("best_of cannot be streamed: which answer is best is known at the end", "best_of")
    logprobs = values.get("logprobs", -1)
    return TextCall(
        call=call,
        prompt=values["prompt"],
        logprobs=None if logprobs < 0 else logprobs,
        prompt_logprobs=_prompt_logprobs(values, call),
        echo=values.get("echo", False),
        suffix=values.get("suffix") or None,
        best_of=best_of,
        add_special=values.get("add_special_tokens", True),
    )


def native_call(body: Body, defaults: Defaults) -> NativeCall:
    """The call that a body of /completion makes. Raises InvalidRequest."""
    values = read_fields(NATIVE_FIELDS, body)
    if "prompt" not in values:
        raise InvalidRequest("prompt is required", "prompt")
    return NativeCall(call=_call(values, defaults), prompt=values["prompt"])


def infill_call(body: Body, defaults: Defaults) -> InfillCall:
    """The call that a body of /infill makes. Raises InvalidRequest."""
    values = read_fields(INFILL_FIELDS, body)
    for name in ("input_prefix", "input_suffix"):
        if name not in values:
            raise InvalidRequest(f'"{name}" is required', name)
    prompt = values.get("prompt", "")
    if not isinstance(prompt, str):
        raise InvalidRequest('"prompt" must be a string', "prompt")
    return InfillCall(
        call=_call(values, defaults),
        prefix=values["input_prefix"],
        suffix=values["input_suffix"],
        extra=_extra(values.get("input_extra", [])),
        prompt=prompt,
    )


def _extra(items: object) -> tuple[tuple[str | None, str], ...]:
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise InvalidRequest('"input_extra" must be an array of {"filename": string, "text": string}', "input_extra")
    found = []
    for item in items:
        name, text = item.get("filename"), item.get("text")
        if not isinstance(text, str):
            raise InvalidRequest('extra_context chunk must contain a "text" field with a string value', "input_extra")
        if name is not None and not isinstance(name, str):
            raise InvalidRequest('extra_context chunk\'s "filename" field must be a string', "input_extra")
        found.append((name, text))
    return tuple(found)


def chat_call(body: Body, defaults: Defaults) -> ChatCall:
    """The call that a body of /v1/chat/completions makes. Raises InvalidRequest."""
    values = read_fields(CHAT_FIELDS, body)
    if "messages" not in values:
        raise InvalidRequest("Invalid request: messages is required", "messages")
    if not isinstance(values["messages"], list):
        raise InvalidRequest("Expected 'messages' to be an array", "messages")
    tools, choice, legacy = _tools(values)
    kwargs = dict(values.get("chat_template_kwargs", {}))
    thinking = kwargs.get("enable_thinking")
    if thinking is not None:
        boolean().read("enable_thinking", thinking)
    call = _call(values, defaults, chat=True)
    return ChatCall(
        call=call,
        messages=values["messages"],
        logprobs=_chat_logprobs(values),
        prompt_logprobs=_prompt_logprobs(values, call),
        tools=tools,
        tool_choice=choice,
        parallel_tool_calls=values.get("parallel_tool_calls"),
        legacy_functions=legacy,
        template_kwargs=kwargs,
        enable_thinking=values.get("enable_thinking", thinking),
        add_generation_prompt=values.get("add_generation_prompt"),
        continue_final_message=_continue(values),
        reasoning_format=values.get("reasoning_format"),
        reasoning_effort=values.get("reasoning_effort"),
        reasoning_budget=values.get("thinking_budget_tokens"),
        reasoning_control=values.get("reasoning_control", False),
        thinking_forced_open=values.get("thinking_forced_open", False),
        parse_tool_calls=values.get("parse_tool_calls", True),
    )


def _continue(values: Body) -> bool | str | None:
    value = values.get("continue_final_message")
    if value is None or isinstance(value, bool) or value in ("content", "reasoning_content"):
        return value
    raise wrong("continue_final_message", 'true, false, "content" or "reasoning_content"', value)


def _prompt_logprobs(values: Body, call: Call) -> int | None:
    found: int | None = values.get("prompt_logprobs")
    if found is not None and call.stream:
        raise InvalidRequest("prompt_logprobs cannot be streamed: leave one of the two out", "prompt_logprobs")
    return found


def _chat_logprobs(values: Body) -> int | None:
    asked, tops = values.get("logprobs"), values.get("top_logprobs")
    if asked is True:
        return tops if tops is not None else 20
    if asked is not None and asked is not False:
        return int(asked) or None
    if tops:
        raise InvalidRequest("top_logprobs requires logprobs to be set to true", "top_logprobs")
    return values.get("n_probs") or None


def _tools(values: Body) -> tuple[list[Any] | None, Any, bool]:
    """Tools and choice; the fields of OpenAI's first form stand in for them when only they are given."""
    tools, choice = values.get("tools"), values.get("tool_choice")
    functions = values.get("functions")
    if tools is not None or functions is None:
        return tools, choice, False
    called = values.get("function_call")
    if isinstance(called, dict):
        choice = {"type": "function", "function": {"name": called.get("name")}}
    elif called is not None:
        choice = called
    return [{"type": "function", "function": function} for function in functions], choice, True


def _call(values: Body, defaults: Defaults, *, chat: bool = False) -> Call:
    n = values.get("n", 1)
    if n > defaults.max_choices:
        name = "n"
        raise InvalidRequest(
            f"Field '{name}': Value must be between 1 <= value <= {defaults.max_choices}, but got {n}", name
        )
    options = {
        "logit_bias": defaults.logit_bias,
        "cache_prompt": defaults.cache_prompt,
        "n_keep": defaults.n_keep,
        "ping_interval": defaults.ping_interval,
    }
    options |= {ours: values[theirs] for ours, theirs in PLAIN.items() if theirs in values}
    stream_options = values.get("stream_options", {})
    n_predict = values.get("n_predict", -1)
    return Call(
        sampling=_sampling(values, defaults),
        n_predict=defaults.n_predict if n_predict == -1 else n_predict,
        include_usage=_option(stream_options, "include_usage"),
        continuous_usage=_option(stream_options, "continuous_usage_stats"),
        stop=tuple(word for word in values.get("stop", defaults.stop) if word),
        special=defaults.special or not values.get("skip_special_tokens", True),
        request_id=_request_id(values),
        rule=read_rule(values, exclusive=chat) or defaults.rule,
        triggers=read_triggers(values),
        preserved=read_preserved(values),
        **options,
    )


def _sampling(values: Body, defaults: Defaults) -> SamplingParams:
    params = sampling_params({key: value for key, value in values.items() if key != "n_probs"}, defaults.sampling)
    if "n_probs" in values:
        params = sampling_params({"n_probs": values["n_probs"]}, params)
    return params


def _option(options: Body, name: str) -> bool:
    value = options.get(name)
    return value is not None and bool(boolean().read(f"stream_options.{name}", value))


def _request_id(values: Body) -> str | None:
    value = values.get("request_id")
    if value is not None and not (0 < len(value) <= 128 and value.isprintable()):
        raise InvalidRequest("Field 'request_id': must have 1 to 128 printable characters", "request_id")
    return value


def embedding_inputs(body: Body) -> Any:
    """What /v1/embeddings is to embed. Raises InvalidRequest."""
    value = body.get("input") if body.get("input") is not None else body.get("content")
    if value is None:
        raise InvalidRequest('"input" or "content" must be provided', "input")
    if value == "":
        raise InvalidRequest('"input" must not be empty', "input")
    return value


def whole_number(body: Body, name: str, default: int, low: int = -1) -> int:
    """The integer field `name`. Raises InvalidRequest."""
    value = body.get(name)
    return default if value is None else int(integer(low).read(name, value))


def switch(body: Body, name: str, default: bool) -> bool:
    """The boolean field `name`. Raises InvalidRequest."""
    value = body.get(name)
    return default if value is None else bool(boolean().read(name, value))


def items(body: Body, name: str) -> list[Any]:
    """The array field `name`; absent is empty. Raises InvalidRequest."""
    value = body.get(name)
    return [] if value is None else list(array().read(name, value))
