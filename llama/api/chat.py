"""What a body of a chat endpoint becomes: a plan by the chat package, a request to the engine, an answer."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from llama.api import anthropic_body, responses_body
from llama.api.answer import Answer, Job
from llama.api.anthropic import AnthropicAnswer
from llama.api.call import ChatCall
from llama.api.constraint import gbnf, plan_constraint
from llama.api.guard import GUARD, guarded
from llama.api.head import Head
from llama.api.openai_chat import ChatAnswer
from llama.api.parse import chat_call
from llama.api.parts import Parts
from llama.api.requests import check_length, engine_request
from llama.api.responses import ResponsesAnswer
from llama.api.run import Run
from llama.api.service import Service
from llama.chat import ChatPlan, prepare
from llama.engine.request import ReasoningBudget
from llama.errors import GrammarError, InvalidRequest, SchemaError

Body = Mapping[str, Any]


def chat_answer(service: Service, body: Body) -> Answer:
    """The answer to a body of /v1/chat/completions. Raises InvalidRequest, Unavailable."""
    return ChatAnswer(*_job(service, body, "chatcmpl-"))


def anthropic_answer(service: Service, body: Body) -> Answer:
    """The answer to a body of /v1/messages. Raises InvalidRequest, Unavailable."""
    return AnthropicAnswer(*_job(service, anthropic_body.chat_body(body), "msg_"))


def responses_answer(service: Service, body: Body) -> Answer:
    """The answer to a body of /v1/responses. Raises InvalidRequest, Unavailable."""
    return ResponsesAnswer(*_job(service, responses_body.chat_body(body), "resp_"), body)


def chat_count(service: Service, body: Body) -> dict[str, Any]:
    """How many tokens the prompt of a chat body has."""
    return {"object": "response.input_tokens", "input_tokens": len(_prompt_ids(service, body))}


def responses_count(service: Service, body: Body) -> dict[str, Any]:
    """How many tokens the prompt of a body of /v1/responses has."""
    return chat_count(service, responses_body.chat_body(body))


def anthropic_count(service: Service, body: Body) -> dict[str, Any]:
    """How many tokens the prompt of a body of /v1/messages has."""
    return {"input_tokens": len(_prompt_ids(service, anthropic_body.chat_body(body)))}


def apply_template(service: Service, body: Body) -> dict[str, Any]:
    """The prompt that a chat body becomes, as text."""
    return {"prompt": _plan(service, chat_call(body, service.parts.openai)).prompt.replace(GUARD, "")}


def _prompt_ids(service: Service, body: Body) -> list[int]:
    plan = _plan(service, chat_call(body, service.parts.openai))
    return plan_ids(service.parts, plan)


def plan_ids(parts: Parts, plan: ChatPlan) -> list[int]:
    """The token ids of a plan's prompt."""
    return parts.vocab.encode(plan.prompt, add_special=True, parse_special=True, guard=GUARD)


def _job(service: Service, body: Body, prefix: str) -> tuple[Job, ChatCall, ChatPlan]:
    parts = service.parts
    chat = chat_call(body, parts.openai)
    plan = _plan(service, chat)
    prompt = plan_ids(parts, plan)
    if not prompt:
        raise InvalidRequest("the chat template makes an empty prompt of these messages", "messages")
    check_length([prompt], service.n_ctx)
    call = replace(chat.call, rule=None, stop=tuple(dict.fromkeys((*chat.call.stop, *plan.stops))))
    head = Head.new(prefix, call.model or service.model_id, call.request_id)
    preserved = _preserved(parts, plan)
    request = engine_request(
        parts,
        call,
        prompt,
        id=head.id,
        prompt_logprobs=chat.prompt_logprobs,
        n_probs=max(1, chat.logprobs) if chat.logprobs is not None else 0,
        constraint=plan_constraint(plan, parts.trie) if plan.grammar is not None else None,
        preserved=preserved,
        budget=_budget(service, chat, plan),
    )
    run = Run(service.engine.submit, [request], service.settings.n_slots)
    job = Job(head=head, call=call, run=run, requests=(request,), vocab=parts.vocab, preserved=preserved)
    return job, chat, plan


def _plan(service: Service, chat: ChatCall) -> ChatPlan:
    """The plan of a call, with what the settings say where the call does not."""
    settings, call = service.settings, chat.call
    rule = call.rule
    try:
        return prepare(
            service.parts.templates,
            guarded(chat.messages, service.parts.controls),
            tools=chat.tools,
            tool_choice=chat.tool_choice,
            parallel_tool_calls=chat.parallel_tool_calls,
            response_schema=rule.value if rule is not None and rule.kind == "schema" else None,
            grammar=gbnf(rule) if rule is not None and rule.kind != "schema" else None,
            reasoning_format=chat.reasoning_format or settings.reasoning_format,
            enable_thinking=_thinking(service, chat),
            reasoning_effort=chat.reasoning_effort or settings.reasoning_effort,
            add_generation_prompt=chat.add_generation_prompt,
            continue_final_message=chat.continue_final_message,
            prefill_assistant=settings.prefill_assistant,
            thinking_forced_open=chat.thinking_forced_open,
            parse_tool_calls=chat.parse_tool_calls and not settings.skip_chat_parsing,
            kwargs={**(settings.chat_template_kwargs or {}), **chat.template_kwargs},
        )
    except (GrammarError, SchemaError) as error:
        if rule is not None and error.field in ("response_format", "grammar"):
            error.field = rule.field  # the name under which the caller sent it
        raise


def _thinking(service: Service, chat: ChatCall) -> bool | None:
    """Whether the model may think: the request, its effort, the command line; None = as the template has it."""
    if chat.enable_thinking is not None:
        return chat.enable_thinking
    effort = chat.reasoning_effort or service.settings.reasoning_effort
    if effort == "none":
        return False
    return {"on": True, "off": False}.get(service.settings.reasoning)


def _preserved(parts: Parts, plan: ChatPlan) -> frozenset[int]:
    found = (parts.vocab.token_id(text) for text in plan.preserved)
    return frozenset(token for token in found if token is not None)


def _budget(service: Service, chat: ChatCall, plan: ChatPlan) -> ReasoningBudget | None:
    """The limit on thoughts, if there is one and the format has thoughts."""
    settings = service.settings
    n = settings.reasoning_budget if chat.reasoning_budget is None else chat.reasoning_budget
    if plan.thought is None or (n < 0 and not chat.reasoning_control):
        return None
    vocab = service.parts.vocab

    def ids(text: str) -> tuple[int, ...]:
        return tuple(vocab.encode(text, add_special=False, parse_special=True))

    message = settings.reasoning_budget_message
    return ReasoningBudget(
        n=n,
        start=ids(plan.thought.start),
        end=ids(message + plan.thought.end),
        close=ids(plan.thought.end),
        already_open=plan.thinking_open,
    )
