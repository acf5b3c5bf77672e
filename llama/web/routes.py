"""The table of routes: method, paths, and the function of the API that answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from llama.api import operations
from llama.api.completions import infill_answer, native_answer, text_answer
from llama.api.service import Service
from llama.settings import Settings
from llama.web import pages

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
    applies: Callable[[Settings], bool] = always


def _get(handler: Handler, *paths: str, applies: Callable[[Settings], bool] = always) -> Route:
    return Route("GET", paths, handler, reads_body=False, applies=applies)


def _post(handler: Callable[[Service, dict[str, Any]], Any], *paths: str) -> Route:
    return Route("POST", paths, lambda service, body, query: handler(service, body))


ROUTES = (
    _post(text_answer, "/v1/completions"),
    _post(native_answer, "/completion", "/completions"),
    _post(infill_answer, "/infill"),
    _get(operations.health, "/health", "/v1/health"),
    _get(pages.index, "/", applies=lambda settings: settings.ui),
)
