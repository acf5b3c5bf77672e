"""The OpenAPI 3.1 document, made from the very tables that read the bodies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llama.api.adapters import scales_of_adapters
from llama.api.anthropic_body import ANTHROPIC_FIELDS
from llama.api.field import Field, object_schema
from llama.api.generation_fields import CHAT_FIELDS, INFILL_FIELDS, NATIVE_FIELDS, TEXT_FIELDS
from llama.api.responses_body import RESPONSES_FIELDS
from llama.api.service import Service
from llama.api.small_fields import (
    CONTROL_FIELDS,
    DETOKENIZE_FIELDS,
    EMBEDDING_FIELDS,
    PREDICT_FIELDS,
    RERANK_FIELDS,
    SLOT_FIELDS,
    STREAM_FIELDS,
    TOKENIZE_FIELDS,
)
from llama.settings.version import VERSION

ERRORS = {400: "Bad request", 401: "No valid key", 404: "Not found", 413: "Body too large", 500: "Our bug"}
MORE_ERRORS = {499: "Cancelled", 501: "Not supported by this model or configuration", 503: "Loading, stopping or full"}
NO_CONTENT = 204


@dataclass(frozen=True, slots=True)
class Operation:
    """One endpoint. `paths` beyond the first are other names of it; `path_names` stand in braces in them."""

    method: str
    paths: tuple[str, ...]
    summary: str
    fields: Sequence[Field] | None = None
    required: tuple[str, ...] = ()
    streams: bool = False
    content: str = "application/json"
    path_names: tuple[str, ...] = ()
    query_names: tuple[str, ...] = ()
    status: int = 200
    body: Mapping[str, Any] | None = None  # a body that is no object


OPERATIONS = (
    Operation("post", ("/v1/completions",), "Text completion", TEXT_FIELDS, ("prompt",), True),
    Operation(
        "post", ("/v1/chat/completions", "/chat/completions"), "Chat completion", CHAT_FIELDS, ("messages",), True
    ),
    Operation("post", ("/completion", "/completions"), "llama-server's completion", NATIVE_FIELDS, ("prompt",), True),
    Operation("post", ("/infill",), "Fill in the middle", INFILL_FIELDS, ("input_prefix", "input_suffix"), True),
    Operation("post", ("/v1/messages",), "Anthropic's messages", ANTHROPIC_FIELDS, ("messages",), True),
    Operation("post", ("/v1/messages/count_tokens",), "Count a conversation's tokens", ANTHROPIC_FIELDS, ("messages",)),
    Operation("post", ("/v1/responses", "/responses"), "OpenAI's responses", RESPONSES_FIELDS, ("input",), True),
    Operation(
        "post", ("/v1/responses/input_tokens", "/responses/input_tokens"), "Count tokens", RESPONSES_FIELDS, ("input",)
    ),
    Operation(
        "post",
        ("/v1/chat/completions/input_tokens", "/chat/completions/input_tokens"),
        "Count tokens",
        CHAT_FIELDS,
        ("messages",),
    ),
    Operation(
        "post",
        ("/v1/chat/completions/control", "/chat/completions/control"),
        "End the thought of a running completion",
        CONTROL_FIELDS,
    ),
    Operation("post", ("/apply-template",), "Render messages", CHAT_FIELDS, ("messages",)),
    Operation("post", ("/tokenize",), "Text to tokens", TOKENIZE_FIELDS),
    Operation("post", ("/detokenize",), "Tokens to text", DETOKENIZE_FIELDS),
    Operation("get", ("/tokenizer_info",), "The tokenizer"),
    Operation("post", ("/v1/embeddings",), "Embeddings", EMBEDDING_FIELDS),
    Operation("post", ("/embedding", "/embeddings"), "llama-server's embeddings", EMBEDDING_FIELDS),
    Operation("post", ("/rerank", "/reranking", "/v1/rerank", "/v1/reranking"), "Rerank", RERANK_FIELDS, ("query",)),
    Operation("get", ("/health", "/v1/health"), "Health"),
    Operation("get", ("/v1/models", "/models"), "Models"),
    Operation("get", ("/v1/models/{id}", "/models/{id}"), "One model", path_names=("id",)),
    Operation("get", ("/props",), "Properties"),
    Operation("post", ("/props",), "Change properties", ()),
    Operation("get", ("/slots",), "Slots"),
    Operation("post", ("/slots/{id}",), "Save, restore or erase a slot", SLOT_FIELDS, path_names=("id",)),
    Operation("get", ("/metrics",), "Prometheus metrics", content="text/plain"),
    Operation("get", ("/lora-adapters",), "Adapters, and how strong each is"),
    Operation("post", ("/lora-adapters",), "Set how strong adapters are", body=scales_of_adapters().schema),
    Operation(
        "post",
        ("/v1/audio/transcriptions", "/audio/transcriptions"),
        "Speech to text: refused, as models here do not hear",
    ),
    Operation("post", ("/v1/streams/lookup",), "How far streams of conversations are", STREAM_FIELDS),
    Operation(
        "get",
        ("/v1/stream",),
        "Take up the stream of a request that had the header X-Conversation-Id, from byte `from` on",
        content="text/event-stream",
        query_names=("conv_id", "from"),
    ),
    Operation(
        "delete",
        ("/v1/stream",),
        "End and forget the stream of a conversation",
        query_names=("conv_id",),
        status=NO_CONTENT,
    ),
    Operation("get", ("/v1/requests",), "Requests that run or wait"),
    Operation("delete", ("/v1/requests/{id}",), "Cancel a request", path_names=("id",)),
    Operation("post", ("/v1/requests/{id}/cancel",), "Cancel a request", path_names=("id",)),
    Operation("get", ("/version",), "Version"),
    Operation("get", ("/openapi.json",), "This document"),
)


def document(service: Service, body: Mapping[str, Any], query: Mapping[str, str]) -> dict[str, Any]:
    """The document of this service."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in (*OPERATIONS, *_vertex_operations(service)):
        for path in operation.paths:
            paths.setdefault(path, {})[operation.method] = _operation(operation, path)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Local LLM server", "version": VERSION},
        "servers": [{"url": service.settings.api_prefix or "/"}],
        "paths": paths,
        "components": {
            "schemas": {"Error": _error_schema()},
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"bearer": []}] if service.settings.keys() else [],
    }


def _vertex_operations(service: Service) -> list[Operation]:
    path, health = service.settings.predict_path, service.settings.predict_health_path
    if path is None:
        return []
    operations = [Operation("post", (path,), "Vertex AI's predictions", PREDICT_FIELDS, ("instances",))]
    return operations if health is None else [*operations, Operation("get", (health,), "Health")]


def _operation(operation: Operation, path: str) -> dict[str, Any]:
    content: dict[str, Any] = {operation.content: {"schema": {}}}
    if operation.streams:
        content["text/event-stream"] = {"schema": {"type": "string"}}
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    answer: dict[str, Any] = {"description": operation.summary}
    if operation.status != NO_CONTENT:
        answer["content"] = content
    responses: dict[str, Any] = {str(operation.status): answer}
    responses |= {
        str(status): {"description": text, "content": error} for status, text in (ERRORS | MORE_ERRORS).items()
    }
    found: dict[str, Any] = {
        "summary": operation.summary,
        "operationId": f"{operation.method}{path}".replace("/", "_"),
        "responses": responses,
    }
    parameters = [
        {"name": name, "in": place, "required": place == "path", "schema": {"type": "string", "minLength": 1}}
        for place, names in (("path", operation.path_names), ("query", operation.query_names))
        for name in names
    ]
    if parameters:
        found["parameters"] = parameters
    schema = operation.body
    if operation.fields is not None:
        schema = object_schema(operation.fields, operation.required)
    if schema is not None:
        found["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return found


def _error_schema() -> dict[str, Any]:
    inner = {
        "type": "object",
        "required": ["code", "message", "type"],
        "properties": {
            "code": {"type": "integer"},
            "message": {"type": "string"},
            "type": {"type": "string"},
            "param": {"type": ["string", "null"]},
        },
    }
    return {"type": "object", "required": ["error"], "properties": {"error": inner}}
