"""Sends an answer: as events while it is made, or whole when it is done. A client that goes away ends the work."""

import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

from flask import Response

from llama.api.answer import Answer
from llama.api.json_text import encode
from llama.api.sse import PING
from llama.errors import LlamaError, Unavailable
from llama.web.errors import error_body
from llama.web.lifecycle import Lifecycle

log = logging.getLogger(__name__)

PATIENCE = 1.0  # seconds that the status line waits for the first event, so that early failures have their own status
HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
STOPPING = "the server is stopping"


class ClientGone(Exception):
    """Nobody is there to answer."""


class Watch:
    """Looks up while an answer is waited for. Raises ClientGone, or Unavailable when the server's or our time is up."""

    def __init__(self, gone: Callable[[], bool], lifecycle: Lifecycle, limit: float | None) -> None:
        self._gone, self._lifecycle = gone, lifecycle
        self._end = None if limit is None else time.monotonic() + limit
        self._next = 0.0

    def look(self) -> None:
        """Look at most twenty times a second."""
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
    try:
        for _ in answer.steps():
            watch.look()
        return json_response(answer.body())
    finally:
        answer.cancel()


def stream_response(answer: Answer, watch: Watch) -> Response:
    """The answer as events. What fails before the first event is raised, so that it gets a status of its own."""
    steps = answer.steps()
    try:
        first = _first(steps, watch)
    except BaseException:
        answer.cancel()
        raise
    response = Response(_frames(answer, first, steps, watch), mimetype="text/event-stream", headers=HEADERS)
    response.call_on_close(answer.cancel)  # a generator that never began does not reach its finally
    return response


def _first(steps: Iterator[list[Any]], watch: Watch) -> list[Any]:
    """The first chunks; none if they take too long."""
    end = time.monotonic() + PATIENCE
    for chunks in steps:
        if chunks or time.monotonic() > end:
            return chunks
        watch.look()
    return []


def _frames(answer: Answer, first: list[Any], steps: Iterator[list[Any]], watch: Watch) -> Iterator[bytes]:
    """The answer on the wire; silence is filled with comments, and a failure becomes the last event."""
    try:
        yield b"".join(map(answer.encode, first)) or PING
        written = time.monotonic()
        for chunks in steps:
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
        answer.cancel()
