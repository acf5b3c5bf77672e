"""The table of routes: method, paths, and the function of the API that answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from llama.api import embeddings, model_list, openapi, operations, props, slots, tokens
from llama.api.adapters import adapters_body
from llama.api.answer import Answer
from llama.api.chat import (
    anthropic_answer,
    anthropic_count,
    apply_template,
    chat_answer,
    chat_count,
    responses_answer,
    responses_count,
)
from llama.api.completions import infill_answer, native_answer, text_answer
from llama.api.conversations import lookup_streams
from llama.api.json_text import decode_object
from llama.api.rerank import rerank
from llama.api.service import Service
from llama.settings import Settings
from llama.web import pages, resuming

Handler = Callable[[Service, dict[str, Any], Mapping[str, str]], Any]


def always(settings: Settings) -> bool:
    """For routes that every configuration has."""
    return True


@dataclass(frozen=True, slots=True)
class Route:
    """`handler(service, body, query)` answers `method` on `paths`; names in a path are put into the body."""

    method: str
    paths: tuple[str, ...]
    handler: Handler
    reads_body: bool = True
    decode: Callable[[bytes], dict[str, Any]] = decode_object
    applies: Callable[[Settings], bool] = always
    generates: bool = False  # what the handler returns was handed to the engine


def _get(handler: Handler, *paths: str, applies: Callable[[Settings], bool] = always) -> Route:
    return Route("GET", paths, handler, reads_body=False, applies=applies)


def _post(handler: Callable[[Service, dict[str, Any]], Any], *paths: str) -> Route:
    return Route("POST", paths, lambda service, body, query: handler(service, body))


def _answer(handler: Callable[[Service, dict[str, Any]], Answer], *paths: str) -> Route:
    return Route("POST", paths, lambda service, body, query: handler(service, body), generates=True)


ROUTES = (
    _answer(text_answer, "/v1/completions"),
    _answer(chat_answer, "/v1/chat/completions", "/chat/completions"),
    _answer(native_answer, "/completion", "/completions"),
    _answer(infill_answer, "/infill"),
    _answer(anthropic_answer, "/v1/messages"),
    _post(anthropic_count, "/v1/messages/count_tokens"),
    _answer(responses_answer, "/v1/responses", "/responses"),
    _post(responses_count, "/v1/responses/input_tokens", "/responses/input_tokens"),
    _post(chat_count, "/v1/chat/completions/input_tokens", "/chat/completions/input_tokens"),
    _post(operations.control, "/v1/chat/completions/control", "/chat/completions/control"),
    _post(apply_template, "/apply-template"),
    _post(tokens.tokenize, "/tokenize"),
    _post(tokens.detokenize, "/detokenize"),
    _get(tokens.tokenizer_info, "/tokenizer_info"),
    _post(embeddings.openai_embeddings, "/v1/embeddings"),
    _post(embeddings.native_embeddings, "/embedding", "/embeddings"),
    _post(rerank, "/rerank", "/reranking", "/v1/rerank", "/v1/reranking"),
    _get(operations.health, "/health", "/v1/health"),
    _get(model_list.list_models, "/v1/models", "/models"),
    _get(model_list.get_model, "/v1/models/<anything:id>", "/models/<anything:id>"),
    _get(props.props, "/props"),
    _post(props.set_props, "/props"),
    _get(slots.list_slots, "/slots"),
    Route("POST", ("/slots/<id>",), slots.slot_action),
    _get(pages.metrics, "/metrics"),
    _get(operations.lora_adapters, "/lora-adapters"),
    Route("POST", ("/lora-adapters",), operations.set_lora_adapters, decode=adapters_body),
    _post(lookup_streams, "/v1/streams/lookup"),
    _get(resuming.resume, "/v1/stream"),
    Route("DELETE", ("/v1/stream",), resuming.drop, reads_body=False),
    Route("POST", ("/v1/audio/transcriptions", "/audio/transcriptions"), operations.transcribe, decode=lambda raw: {}),
    _get(operations.list_requests, "/v1/requests"),
    Route("DELETE", ("/v1/requests/<id>",), operations.cancel_request, reads_body=False),
    Route("POST", ("/v1/requests/<id>/cancel",), operations.cancel_request, reads_body=False),
    _get(operations.version, "/version"),
    _get(openapi.document, "/openapi.json"),
    _get(pages.index, "/", applies=lambda settings: settings.ui),
)
