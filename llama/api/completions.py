"""What a body of a completion endpoint becomes: an answer in the making. What can be refused is refused here."""

from collections.abc import Mapping
from typing import Any

from llama.api.answer import Answer, Job
from llama.api.call import Call, TextCall
from llama.api.head import Head
from llama.api.infill import infill_prompt, suffix_prompt
from llama.api.native import NativeAnswer
from llama.api.openai_text import TextAnswer
from llama.api.parse import infill_call, native_call, text_call
from llama.api.parts import Parts
from llama.api.prompt import prompts as read_prompts
from llama.api.requests import check_length, engine_request, preserved_ids
from llama.api.run import Run
from llama.api.service import Service
from llama.engine.request import Request
from llama.errors import InvalidRequest, NotSupported

Body = Mapping[str, Any]


def text_answer(service: Service, body: Body) -> Answer:
    """The answer to a body of /v1/completions. Raises InvalidRequest, Unavailable."""
    parts = service.parts
    text = text_call(body, parts.openai)
    call = text.call
    prompts = _prompts(service, text.prompt, add_special=text.add_special)
    echoes = _echoes(parts, text, prompts) if text.echo else None
    if text.suffix is not None:
        prompts = [_with_suffix(service, prompt, text.suffix) for prompt in prompts]
    check_length(prompts, service.n_ctx)
    best_of = text.best_of > call.n
    n_probs = max(1, text.logprobs or 0) if best_of or text.logprobs is not None else 0
    head = Head.new("cmpl-", call.model or service.model_id, call.request_id)
    requests = [
        engine_request(
            parts,
            call,
            prompt,
            id=head.id,
            n=text.best_of,
            n_probs=n_probs,
            prompt_logprobs=_scored(text),
        )
        for prompt in prompts
    ]
    return TextAnswer(_job(service, head, call, requests), text, echoes)


def _scored(text: TextCall) -> int | None:
    """How many alternatives of the prompt's tokens are to be reported, if any: for echo, for vLLM's field, or both."""
    asked = (text.logprobs if text.echo else None, text.prompt_logprobs)
    return max((n for n in asked if n is not None), default=None)


def native_answer(service: Service, body: Body) -> Answer:
    """The answer to a body of /completion. Raises InvalidRequest, Unavailable."""
    parts = service.parts
    native = native_call(body, parts.native)
    prompts = _prompts(service, native.prompt)
    check_length(prompts, service.n_ctx)
    return _native(service, native.call, prompts)


def infill_answer(service: Service, body: Body) -> Answer:
    """The answer to a body of /infill. Raises InvalidRequest, NotSupported, Unavailable."""
    parts, settings = service.parts, service.settings
    infill = infill_call(body, parts.native)
    prompt = infill_prompt(
        parts.vocab,
        infill,
        n_batch=settings.batch_size,
        n_ctx=service.n_ctx,
        n_predict=settings.n_predict,
        suffix_first=settings.spm_infill,
    )
    check_length([prompt], service.n_ctx)
    return _native(service, infill.call, [prompt])


def _native(service: Service, call: Call, prompts: list[list[int]]) -> Answer:
    head = Head.new("cmpl-", service.model_id, call.request_id)
    requests = [engine_request(service.parts, call, prompt, id=head.id) for prompt in prompts]
    return NativeAnswer(_job(service, head, call, requests))


def _job(service: Service, head: Head, call: Call, requests: list[Request]) -> Job:
    parts = service.parts
    run = Run(service.engine.submit, requests, service.settings.n_slots)
    return Job(
        head=head,
        call=call,
        run=run,
        requests=tuple(requests),
        vocab=parts.vocab,
        preserved=preserved_ids(parts, call),
    )


def _prompts(service: Service, value: object, *, add_special: bool = True) -> list[list[int]]:
    found = read_prompts(value, service.parts.vocab, add_special=add_special)
    limit = service.settings.max_choices
    if len(found) > limit:
        raise InvalidRequest(f'"prompt" holds {len(found)} prompts; at most {limit} go in one request', "prompt")
    return found


def _with_suffix(service: Service, prompt: list[int], suffix: str) -> list[int]:
    try:
        return suffix_prompt(service.parts.vocab, prompt, suffix, suffix_first=service.settings.spm_infill)
    except NotSupported as error:
        raise InvalidRequest(f"Field 'suffix': {error} Leave suffix out.", "suffix") from None


def _echoes(parts: Parts, text: TextCall, prompts: list[list[int]]) -> list[str]:
    """The text of every prompt, as it was sent where it was text."""
    sent = text.prompt if isinstance(text.prompt, list) and len(text.prompt) == len(prompts) else [text.prompt]
    if len(sent) != len(prompts):
        sent = [None] * len(prompts)
    return [
        given if isinstance(given, str) else parts.vocab.decode(ids, special=True)
        for given, ids in zip(sent, prompts, strict=True)
    ]
