"""Streams of conversations: filled by a thread of their own, so that a lost connection can be taken up again."""

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from flask import Response, request
from werkzeug.datastructures import Headers

from llama.api.answer import Answer
from llama.api.conversations import Ring, conversations
from llama.api.service import Service
from llama.errors import InvalidRequest
from llama.web.lifecycle import Lifecycle
from llama.web.peek import gone_check
from llama.web.streaming import HEADERS, Watch, begun

HEADER = "X-Conversation-Id"
PATIENCE = 1.0  # seconds without news after which a reader looks whether its client is still there

Query = Mapping[str, str]


def conversation_id(headers: Headers) -> str:
    """The id of the conversation that a request belongs to, as /v1/stream is asked for it; "" for none."""
    return headers.get(HEADER, "").encode("latin-1").decode("utf-8", "replace")  # WSGI has headers as Latin-1


def resumable_response(service: Service, id: str, answer: Answer, lifecycle: Lifecycle) -> Response:
    """The answer as events that go on when the client leaves. What fails before the first event is raised."""
    known = conversations(service)
    known.drop(id)  # before waiting for ours: it may need that one's slot
    frames = begun(answer, Watch({}, lifecycle, None))
    ring = known.open(id, answer.cancel)
    threading.Thread(target=_fill, args=(ring, frames), name="conversation", daemon=True).start()
    return _follow(ring, 0)


def resume(service: Service, body: dict[str, Any], query: Query) -> Response:
    """GET /v1/stream: a conversation's stream from a byte on, and what is still to come of it."""
    ring = conversations(service).get(_id(query))
    offset = query.get("from") or "0"
    if not (offset.isascii() and offset.isdigit() and len(offset) < 19):
        raise InvalidRequest(f"from must be the number of a byte, but is {offset!r}", "from")
    ring.read(int(offset), 0)  # what is lost is an error, not a stream
    return _follow(ring, int(offset))


def drop(service: Service, body: dict[str, Any], query: Query) -> Response:
    """DELETE /v1/stream: end a conversation's stream and forget it, if there is one."""
    conversations(service).drop(_id(query))
    return Response("", 204)


def _id(query: Query) -> str:
    if not query.get("conv_id"):
        raise InvalidRequest("conv_id is missing: the id of the conversation", "conv_id")
    return query["conv_id"]


def _fill(ring: Ring, frames: Iterator[bytes]) -> None:
    try:
        for frame in frames:
            ring.append(frame)
    finally:
        ring.finish()


def _follow(ring: Ring, offset: int) -> Response:
    return Response(_rest(ring, offset, gone_check(request.environ)), mimetype="text/event-stream", headers=HEADERS)


def _rest(ring: Ring, offset: int, gone: Callable[[], bool]) -> Iterator[bytes]:
    """The bytes from `offset` on. A reader who is so slow that they were dropped gets no more."""
    try:
        while (data := ring.read(offset, PATIENCE)) is not None:
            if data:
                yield data
                offset += len(data)
            elif gone():
                return
    except InvalidRequest:
        return
