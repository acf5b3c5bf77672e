"""The blueprint: every route of one service, to be mounted anywhere. The order of things is llama-server's."""

import logging
import time
from collections.abc import Callable
from contextlib import nullcontext

from flask import Blueprint, Response, g, request
from flask.sansio.blueprints import BlueprintSetupState
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge
from werkzeug.routing import BaseConverter

from llama.api.answer import Answer
from llama.api.anthropic import anthropic_error
from llama.api.service import Service
from llama.errors import BodyTooLarge, InvalidRequest, LlamaError, NotFound
from llama.web.auth import PUBLIC, check_key
from llama.web.cors import cors_headers
from llama.web.errors import error_body, error_headers
from llama.web.lifecycle import Lifecycle
from llama.web.resuming import conversation_id, resumable_response
from llama.web.routes import ROUTES, Route
from llama.web.streaming import ClientGone, Watch, json_response, stream_response, whole_response
from llama.web.vertex import vertex_routes

log = logging.getLogger(__name__)

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]
ANTHROPIC = ("/v1/messages", "/v1/messages/count_tokens")  # whose clients expect errors in their own form
QUIET = ("/health", "/metrics", "/slots")  # asked again and again by machines
MIB = 1 << 20
LONGEST_TARGET = 8192


def create_blueprint(service: Service, name: str = "llama", lifecycle: Lifecycle | None = None) -> Blueprint:
    """The routes of `service`. Mount it under a prefix; a second service needs a name of its own."""
    blueprint = Blueprint(name, __name__)
    web = _Web(service, lifecycle or Lifecycle(service.settings.graceful_timeout))
    blueprint.record(_add_converter)
    blueprint.before_request(web.admit)
    blueprint.after_request(web.finish)
    blueprint.register_error_handler(Exception, web.fail)
    for route in (*ROUTES, *vertex_routes(service.settings, web.lifecycle)):
        if route.applies(service.settings):
            for path in route.paths:
                endpoint = f"{route.method.lower()}{path}".replace("/", "_").replace(".", "_")
                blueprint.add_url_rule(
                    path, endpoint, web.view(route), methods=[route.method], provide_automatic_options=False
                )
    for path in ("/", "/<path:rest>"):
        blueprint.add_url_rule(
            path, f"unknown{len(path)}", web.unknown, methods=METHODS, provide_automatic_options=False
        )
    return blueprint


class _Web:
    """What happens to a request of one service before, around and after its route."""

    def __init__(self, service: Service, lifecycle: Lifecycle) -> None:
        self.service = service
        self.settings = service.settings
        self.lifecycle = lifecycle
        self._keys = service.settings.keys()
        self._public = PUBLIC | set(filter(None, [service.settings.predict_health_path]))

    def admit(self) -> Response | None:
        """Preflights are answered, then loading, then the key, then the size of the body."""
        g.begun = time.monotonic()
        if request.method == "OPTIONS":
            return Response("", 200, content_type="text/html")
        path = self._path()
        self.service.ensure_started()
        if not self.service.ready and path != "/":
            raise self.service.unavailable()
        if self._keys and path not in self._public:
            check_key(request.headers, self._keys)
        if len(request.full_path) > LONGEST_TARGET:
            raise NotFound("the address is too long")
        request.max_content_length = self.settings.max_body * MIB
        encoding = request.headers.get("Content-Encoding", "identity")
        if encoding not in ("identity", ""):
            raise UnsupportedEncoding(f"send the body without Content-Encoding, not as {encoding}")
        return None

    def view(self, route: Route) -> Callable[..., Response]:
        """The view function of a route."""

        def view(**names: str) -> Response:
            data = _received() if route.reads_body else b""  # before anybody waits for it: a body may come slowly
            with self.service.engine.expecting() if route.generates else nullcontext():
                body = route.decode(data) if route.reads_body else {}
                result = route.handler(self.service, {**body, **names}, request.args)
            if isinstance(result, Answer):
                return self._send(result)
            return result if isinstance(result, Response) else json_response(result)

        return view

    def unknown(self, rest: str = "") -> Response:
        """Unknown paths, and known ones with another method."""
        raise NotFound("File Not Found")

    def fail(self, error: Exception) -> Response:
        """Every error as JSON, those of the web framework too."""
        if isinstance(error, ClientGone):
            return Response("", 499)
        if isinstance(error, RequestEntityTooLarge):
            error = BodyTooLarge(f"the request body is larger than {self.settings.max_body} MiB (--max-body)")
        if isinstance(error, UnsupportedEncoding):
            return _with_status(error, 415)
        if isinstance(error, HTTPException) and not isinstance(error, LlamaError):
            return _with_status(InvalidRequest(error.description or error.name), error.code or 500)
        if not isinstance(error, LlamaError):
            log.error("%s %s failed", request.method, request.path, exc_info=error)
        body = error_body(error)
        status = body["error"]["code"]
        shown = anthropic_error(body) if self._path().endswith(ANTHROPIC) else body
        return json_response(shown, status, error_headers(error))

    def finish(self, response: Response) -> Response:
        """CORS headers on every answer, and a line in the log."""
        origin = request.headers.get("Origin")
        preflight = request.method == "OPTIONS"
        for key, value in cors_headers(self.settings, origin, preflight=preflight).items():
            response.headers[key] = value
        line = _Line(request.method, request.path, response.status_code, g.get("answer"), g.get("begun", 0.0))
        response.call_on_close(line.write)
        return response

    def _send(self, answer: Answer) -> Response:
        g.answer = answer
        conversation = conversation_id(request.headers)
        if answer.stream and conversation:
            return resumable_response(self.service, conversation, answer, self.lifecycle)
        limit = None if answer.stream else float(self.settings.timeout)
        watch = Watch(request.environ, self.lifecycle, limit)
        return stream_response(answer, watch) if answer.stream else whole_response(answer, watch)

    def _path(self) -> str:
        """The path below the place where the blueprint is mounted."""
        if request.url_rule is None or request.endpoint is None:
            return request.path
        rest = (request.view_args or {}).get("rest")
        if rest is not None:
            return f"/{rest}"
        rule = request.url_rule.rule
        known = (path for path in self._public if path != "/" and rule.endswith(path))
        return next(known, "/" if _is_index() else rule)


class Anything(BaseConverter):
    """The rest of a path, a leading slash included: the id of a model may be the path of its file."""

    regex = ".+"
    part_isolating = False


def _add_converter(state: BlueprintSetupState) -> None:
    state.app.url_map.converters["anything"] = Anything


class UnsupportedEncoding(InvalidRequest):
    """A compressed body."""


class _Line:
    """The line that a request leaves in the log when its answer has been sent."""

    def __init__(self, method: str, path: str, status: int, answer: Answer | None, begun: float) -> None:
        self._method, self._path, self._status = method, path, status
        self._answer, self._begun = answer, begun

    def write(self) -> None:
        """Log it."""
        seconds = time.monotonic() - self._begun
        if self._answer is None:
            quiet = self._path.endswith(QUIET) or self._method == "OPTIONS"
            level = logging.DEBUG if quiet else logging.INFO
            log.log(level, "%s %s %d %.3f s", self._method, self._path, self._status, seconds)
            return
        times = self._answer.tally.timings()
        log.info(
            "%s %s %d %.3f s, prompt %d + %d cached at %.1f t/s, generated %d at %.1f t/s",
            self._method,
            self._path,
            self._status,
            seconds,
            times["prompt_n"],
            times["cache_n"],
            times["prompt_per_second"],
            times["predicted_n"],
            times["predicted_per_second"],
        )


def _received() -> bytes:
    """The body as it was sent. Raises InvalidRequest for one that breaks off or is badly cut into chunks."""
    try:
        return request.get_data(cache=False)
    except HTTPException:
        raise
    except Exception as error:  # each server has errors of its own for it
        raise InvalidRequest(f"the request body cannot be read: {error}") from error


def _is_index() -> bool:
    return request.endpoint is not None and request.endpoint.rsplit(".", 1)[-1] in ("get_", "unknown1")


def _with_status(error: InvalidRequest, status: int) -> Response:
    body = error_body(error)
    body["error"]["code"] = status
    return json_response(body, status)
