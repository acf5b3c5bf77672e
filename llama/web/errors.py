"""The one table from errors to HTTP, and the body of every error answer."""

from typing import Any

from llama.errors import (
    BodyTooLarge,
    Cancelled,
    ContextOverflow,
    InvalidRequest,
    LlamaError,
    NotFound,
    NotSupported,
    SchemaError,
    Unauthorized,
    Unavailable,
)

STATUS: dict[type[LlamaError], tuple[int, str]] = {
    LlamaError: (500, "server_error"),
    InvalidRequest: (400, "invalid_request_error"),
    ContextOverflow: (400, "exceed_context_size_error"),
    Unauthorized: (401, "authentication_error"),
    NotFound: (404, "not_found_error"),
    BodyTooLarge: (413, "invalid_request_error"),
    Cancelled: (499, "cancelled_error"),
    NotSupported: (501, "not_supported_error"),
    Unavailable: (503, "unavailable_error"),
}
BUG = (500, "server_error")


def status_of(error: Exception) -> tuple[int, str]:
    """Status and type of `error`, by the nearest ancestor in the table; what is not ours is a bug."""
    return next((STATUS[cls] for cls in type(error).__mro__ if cls in STATUS), BUG)


def error_body(error: Exception) -> dict[str, Any]:
    """The JSON body of an error answer. A bug's message stays in the log."""
    status, kind = status_of(error)
    message = str(error) if isinstance(error, LlamaError) else "Internal server error; the log has the details"
    body: dict[str, Any] = {
        "code": status,
        "message": message,
        "type": kind,
        "param": error.field if isinstance(error, InvalidRequest) else None,
    }
    if isinstance(error, ContextOverflow):
        body |= {"n_prompt_tokens": error.n_prompt, "n_ctx": error.n_ctx}
    if isinstance(error, SchemaError):
        body |= {"schema_path": error.path, "schema_keyword": error.keyword}
    return {"error": body}


def error_headers(error: Exception) -> dict[str, str]:
    """Headers that go with an error."""
    if isinstance(error, Unauthorized):
        return {"WWW-Authenticate": "Bearer"}
    if isinstance(error, Unavailable):
        return {"Retry-After": str(error.retry_after or 1)}
    return {}
