"""Vertex AI's predictions: several requests in one, each for the endpoint that its @requestFormat names."""

from collections import deque
from collections.abc import Mapping
from functools import partial
from typing import Any

from flask import Response, request

from llama.api.answer import Answer
from llama.api.operations import health
from llama.api.service import Service
from llama.errors import InvalidRequest, LlamaError
from llama.settings import Settings
from llama.web.errors import error_body
from llama.web.lifecycle import Lifecycle
from llama.web.routes import ROUTES, Route
from llama.web.streaming import Watch

FORMAT = "@requestFormat"
MOST = 128

Query = Mapping[str, str]
Started = Answer | dict[str, Any] | list[Any]


def format_name(path: str) -> str:
    """What a path is called in a request: /v1/chat/completions is chatCompletions."""
    first, *rest = path.removeprefix("/v1").strip("/").replace("-", "/").replace("_", "/").split("/")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


TARGETS: dict[str, Route] = {}
for _route in ROUTES:
    if _route.method == "POST":
        for _path in _route.paths:
            if "<" not in _path:
                TARGETS.setdefault(format_name(_path), _route)  # /v1 comes first, so `completions` is OpenAI's
                TARGETS[_path] = _route


def vertex_routes(settings: Settings, lifecycle: Lifecycle) -> tuple[Route, ...]:
    """The routes that Vertex AI asks for; none elsewhere. `lifecycle` tells predictions when the server stops."""
    if settings.predict_path is None:
        return ()
    routes = [Route("POST", (settings.predict_path,), partial(predict, lifecycle))]
    if settings.predict_health_path is not None:
        routes.append(Route("GET", (settings.predict_health_path,), health, reads_body=False))
    return tuple(routes)


def predict(lifecycle: Lifecycle, service: Service, body: dict[str, Any], query: Query) -> dict[str, Any]:
    """The answers to all instances, in their order; one that fails has an error in its place. Raises InvalidRequest."""
    instances = body.get("instances")
    if not isinstance(instances, list):
        raise InvalidRequest("request body must include an array field named instances", "instances")
    if len(instances) > MOST:
        raise InvalidRequest(f"instances array exceeds maximum size of {MOST}", "instances")
    watch = Watch(request.environ, lifecycle, float(service.settings.timeout))
    begun: deque[Started] = deque()
    predictions: list[Any] = []

    def cancel() -> None:
        for item in list(begun):
            if isinstance(item, Answer):
                item.cancel()

    watch.begin(cancel)
    try:
        for instance in instances:
            begun.append(_start(service, instance, query))
            if len(begun) == service.settings.n_slots:  # as many as are served at once
                predictions.append(_finish(begun, watch))
        while begun:
            predictions.append(_finish(begun, watch))
    finally:
        watch.end()
        cancel()
    return {"predictions": predictions}


def _start(service: Service, instance: Any, query: Query) -> Started:
    try:
        if not isinstance(instance, dict):
            raise InvalidRequest("each instance must be a JSON object", "instances")
        name = instance.get(FORMAT)
        if not isinstance(name, str):
            raise InvalidRequest(f"each instance must include a string {FORMAT}", FORMAT)
        if name not in TARGETS:
            raise InvalidRequest(f"no handler registered for {FORMAT}: {name}", FORMAT)
        payload = {key: value for key, value in instance.items() if key not in (FORMAT, "stream")}
        result = TARGETS[name].handler(service, payload, query)
        if isinstance(result, Response):
            raise InvalidRequest(f"{name} has no answer in JSON", FORMAT)
        return result  # type: ignore[no-any-return]  # handlers return answers or JSON
    except LlamaError as error:
        return error_body(error)


def _finish(begun: deque[Started], watch: Watch) -> Any:
    """The body of the oldest. It stays in the queue until then, so that it can be cancelled."""
    item = begun[0]
    try:
        if not isinstance(item, Answer):
            return item
        for _ in item.steps():
            watch.look()
        return item.body()
    except LlamaError as error:
        return error_body(error)
    finally:
        begun.popleft()
