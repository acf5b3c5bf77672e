"""Every error this project raises on purpose, drawn as a tree.

    LlamaError                      something went wrong that we can name
    ├── InvalidRequest              the caller's mistake; `field` names the culprit when there is one
    │   ├── ContextOverflow         the prompt does not fit; carries both counts
    │   ├── GrammarError            a grammar that cannot be parsed; carries line and column
    │   ├── SchemaError             a JSON Schema that cannot be enforced; carries path and keyword
    │   ├── TemplateError           the chat template refuses or breaks on these messages
    │   ├── BodyTooLarge            the request body is over the limit
    │   ├── Unauthorized            no API key, or a wrong one
    │   └── NotFound                no such path, method, model or request
    ├── Unavailable                 not now: loading, stopping, queue full
    │   └── QueueFull               too many requests are waiting
    ├── Cancelled                   someone ended this request by its id
    ├── NotSupported                this model or this configuration cannot do it
    ├── ModelFileError              a model file that is broken, hostile or of an unknown kind
    │   └── UnknownArchitecture     a well-formed file of an architecture we do not have
    ├── DownloadError               a model that could not be fetched
    └── SettingsError               a command line or environment that makes no sense

Errors carry attributes and know no HTTP status: `llama/web/errors.py` maps them.
"""


class LlamaError(Exception):
    """Something went wrong that we can name; the message is fit for the user's eyes."""


class InvalidRequest(LlamaError):
    """The caller's mistake. `field` is the name of the field to blame, as the caller wrote it."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class ContextOverflow(InvalidRequest):
    """The prompt has `n_prompt` tokens and the context holds `n_ctx`."""

    def __init__(self, n_prompt: int, n_ctx: int) -> None:
        super().__init__(
            f"request ({n_prompt} tokens) exceeds the available context size ({n_ctx} tokens), try increasing it"
        )
        self.n_prompt = n_prompt
        self.n_ctx = n_ctx


class GrammarError(InvalidRequest):
    """A grammar that cannot be used; `line` and `column` count from 1, 0 when there is no place to point at."""

    def __init__(self, message: str, line: int = 0, column: int = 0, field: str | None = "grammar") -> None:
        super().__init__(message, field)
        self.line = line
        self.column = column


class SchemaError(InvalidRequest):
    """A JSON Schema that cannot be enforced: `path` is a JSON pointer, `keyword` the one at fault."""

    def __init__(self, message: str, path: str, keyword: str, field: str | None = "json_schema") -> None:
        super().__init__(message, field)
        self.path = path
        self.keyword = keyword


class TemplateError(InvalidRequest):
    """The chat template refuses these messages, or breaks on them."""


class BodyTooLarge(InvalidRequest):
    """The request body is over the limit."""


class Unauthorized(InvalidRequest):
    """No API key where one is needed, or a wrong one."""


class NotFound(InvalidRequest):
    """No such path, method, model or running request."""


class Unavailable(LlamaError):
    """Not now: the model is loading, the server is stopping, or the queue is full."""

    def __init__(self, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class QueueFull(Unavailable):
    """Too many requests are waiting; in a moment there may be room."""


class Cancelled(LlamaError):
    """Someone ended this request by its id."""


class NotSupported(LlamaError):
    """This model, or this configuration, cannot do what was asked."""


class ModelFileError(LlamaError):
    """A model file that is broken, hostile or of a kind we cannot read."""


class UnknownArchitecture(ModelFileError):
    """A well-formed model file whose architecture we do not have."""


class DownloadError(LlamaError):
    """A model that could not be fetched."""


class SettingsError(LlamaError):
    """A command line or an environment that makes no sense."""
