"""What a request asks for, checked: frozen values that nothing reads a body after."""

from dataclasses import dataclass
from typing import Any, Literal

from llama.grammar import Trigger
from llama.sampling.params import SamplingParams

RuleKind = Literal["grammar", "schema", "regex", "choice"]


@dataclass(frozen=True, slots=True)
class Rule:
    """What binds the output: `value` is GBNF, a JSON Schema, a regular expression or a tuple of texts."""

    kind: RuleKind
    value: Any
    field: str  # who is to blame when it cannot be used


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What every completion endpoint may be asked."""

    sampling: SamplingParams
    model: str | None = None
    logit_bias: Any = None
    bad_words: tuple[str, ...] = ()
    n: int = 1
    n_predict: int = -1
    stream: bool = False
    include_usage: bool = False
    continuous_usage: bool = False
    stop: tuple[str, ...] = ()
    stop_token_ids: tuple[int, ...] = ()
    include_stop: bool = False
    special: bool = False
    cache_prompt: bool = True
    lora: tuple[tuple[int, float], ...] = ()  # scales of adapters by id; (): the server's
    n_keep: int = 0
    n_discard: int = 0
    n_indent: int = 0
    t_max_predict_ms: int = -1
    id_slot: int = -1
    progress: bool = False
    timings_per_token: bool = False
    ping_interval: int = 30
    return_tokens: bool = False
    response_fields: tuple[str, ...] = ()
    verbose: bool = False
    request_id: str | None = None
    rule: Rule | None = None
    lazy: bool = False
    triggers: tuple[Trigger, ...] = ()
    preserved: tuple[int | str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TextCall:
    """What /v1/completions is asked."""

    call: Call
    prompt: Any
    logprobs: int | None = None
    prompt_logprobs: int | None = None
    echo: bool = False
    suffix: str | None = None
    best_of: int = 1
    add_special: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeCall:
    """What /completion is asked."""

    call: Call
    prompt: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class InfillCall:
    """What /infill is asked."""

    call: Call
    prefix: str
    suffix: str
    extra: tuple[tuple[str | None, str], ...] = ()
    prompt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatCall:
    """What /v1/chat/completions is asked; None is "not said"."""

    call: Call
    messages: list[Any]
    logprobs: int | None = None  # alternatives a token; None = no report
    prompt_logprobs: int | None = None
    tools: list[Any] | None = None
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    legacy_functions: bool = False  # answer with function_call instead of tool_calls
    template_kwargs: dict[str, Any]
    enable_thinking: bool | None = None
    add_generation_prompt: bool | None = None
    continue_final_message: bool | str | None = None
    reasoning_format: str | None = None
    reasoning_effort: str | None = None
    reasoning_budget: int | None = None
    reasoning_control: bool = False
    thinking_forced_open: bool = False
    parse_tool_calls: bool = True
