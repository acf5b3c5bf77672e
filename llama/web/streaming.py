"""Sends an answer: as events while it is made, or whole when it is done. A client that goes away ends the work."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from flask import Response

from llama.api.answer import Answer
from llama.api.json_text import encode
from llama.api.sse import PING
from llama.errors import LlamaError, Unavailable
from llama.web.departures import DEPARTURES
from llama.web.errors import error_body
from llama.web.lifecycle import Lifecycle
from llama.web.peek import connection_of, gone_check

log = logging.getLogger(__name__)

PATIENCE = 1.0  # seconds that the status line waits for the first event, so that early failures have their own status
HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
STOPPING = "the server is stopping"


class ClientGone(Exception):
    """Nobody is there to answer."""


class Watch:
    """Looks up while an answer is waited for. Raises ClientGone, or Unavailable when the server's or our time is up."""

    def __init__(self, environ: Mapping[str, Any], lifecycle: Lifecycle, limit: float | None) -> None:
        self._gone, self._connection = gone_check(environ), connection_of(environ)
        self._lifecycle = lifecycle
        self._end = None if limit is None else time.monotonic() + limit
        self._next = 0.0
        self._forget: Callable[[], None] = lambda: None
        self.left = False

    def begin(self, cancel: Callable[[], None]) -> None:
        """From now on, `cancel` as soon as the system says that the client has left. `look` sees what that misses."""

        def leave() -> None:
            self.left = True
            cancel()

        if self._connection is not None:
            self._forget = DEPARTURES.watch(self._connection, leave)

    def end(self) -> None:
        """Let go of the connection. Safe to repeat."""
        self._forget()

    def look(self) -> None:
        """Look at most twenty times a second."""
        if self.left:
            raise ClientGone
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + 0.05
        if self._gone():
            raise ClientGone
        if self._lifecycle.out_of_time():
            raise Unavailable(STOPPING)
        if self._end is not None and now > self._end:
            raise Unavailable("the request took longer than --timeout allows")


def json_response(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """`body` as a JSON answer."""
    return Response(encode(body), status, headers, content_type="application/json; charset=utf-8")


def whole_response(answer: Answer, watch: Watch) -> Response:
    """The answer when it is done. The work is cancelled on every way out."""
    watch.begin(answer.cancel)
    try:
        for _ in answer.steps():
            watch.look()
        return json_response(answer.body())
    finally:
        watch.end()
        answer.cancel()


def stream_response(answer: Answer, watch: Watch) -> Response:
    """The answer as events. What fails before the first event is raised, so that it gets a status of its own."""
    response = Response(begun(answer, watch), mimetype="text/event-stream", headers=HEADERS)
    response.call_on_close(watch.end)  # a generator that never began does not reach its finally
    response.call_on_close(answer.cancel)
    return response


def begun(answer: Answer, watch: Watch) -> Iterator[bytes]:
    """The answer on the wire, once its first event is there. Raises what fails before that."""
    steps = answer.steps()
    watch.begin(answer.cancel)
    try:
        first = _first(steps, watch)
    except BaseException:
        watch.end()
        answer.cancel()
        raise
    return _frames(answer, first, steps, watch)


def _first(steps: Iterator[list[Any]], watch: Watch) -> list[Any]:
    """The first chunks; none if they take too long."""
    end = time.monotonic() + PATIENCE
    for chunks in steps:
        watch.look()
        if chunks or time.monotonic() > end:
            return chunks
    return []


def _frames(answer: Answer, first: list[Any], steps: Iterator[list[Any]], watch: Watch) -> Iterator[bytes]:
    """The answer on the wire; silence is filled with comments, and a failure becomes the last event."""
    try:
        yield b"".join(map(answer.encode, first)) or PING
        written = time.monotonic()
        for chunks in steps:
            if watch.left:
                return
            if chunks:
                yield b"".join(map(answer.encode, chunks))
                written = time.monotonic()
            elif 0 < answer.ping_interval <= time.monotonic() - written:
                yield PING
                written = time.monotonic()
            watch.look()
        yield answer.ending()
    except ClientGone:
        return
    except LlamaError as error:
        yield answer.failure(error_body(error))
    except Exception as error:
        log.exception("a stream failed")
        yield answer.failure(error_body(error))
    finally:
        watch.end()
        answer.cancel()
