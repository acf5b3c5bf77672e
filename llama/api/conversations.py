"""Streams that outlive their connection: the last bytes of each conversation's, for whoever comes back for them."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from llama.api.field import list_of, text
from llama.api.service import Service
from llama.errors import InvalidRequest, NotFound

CAPACITY = 4 << 20  # bytes that are kept of a stream
KEPT = 300.0  # seconds for which they are kept after its end
MOST = 256  # conversations; then the one that ended first goes
ALL = 128 << 20  # bytes of all streams together; then, too, the one that ended first goes


class Ring:
    """The end of a stream, at most `capacity` bytes. One thread appends; any number read, each from where it likes."""

    def __init__(self, cancel: Callable[[], None], capacity: int = CAPACITY) -> None:
        self.cancel = cancel
        self.started = time.time()
        self.completed = 0.0  # when it ended; 0 while it runs
        self._capacity = capacity
        self._bytes = bytearray()
        self._dropped = 0
        self._changed = threading.Condition()

    @property
    def total(self) -> int:
        """Bytes that ever came."""
        with self._changed:
            return self._dropped + len(self._bytes)

    @property
    def size(self) -> int:
        """Bytes that are kept."""
        with self._changed:
            return len(self._bytes)

    def append(self, data: bytes) -> None:
        """Add to the stream; the oldest bytes make room. What comes after the end is dropped."""
        with self._changed:
            if self.completed:
                return
            self._bytes += data
            surplus = max(0, len(self._bytes) - self._capacity)
            del self._bytes[:surplus]
            self._dropped += surplus
            self._changed.notify_all()

    def finish(self) -> None:
        """Nothing more will come. Safe to repeat."""
        with self._changed:
            self.completed = self.completed or time.time()
            self._changed.notify_all()

    def read(self, offset: int, timeout: float) -> bytes | None:
        """What there is from `offset` on: b"" if nothing came for `timeout` seconds, None at the end.

        Raises InvalidRequest when that has been dropped.
        """
        with self._changed:
            self._changed.wait_for(lambda: self.completed or offset < self._dropped + len(self._bytes), timeout)
            if offset < self._dropped:
                raise InvalidRequest(f"the stream is kept from byte {self._dropped} on: start again", "from")
            found = bytes(self._bytes[offset - self._dropped :])
            return None if self.completed and not found else found


class Conversations:
    """The streams of a service, one for each id at most."""

    def __init__(self) -> None:
        self._rings: dict[str, Ring] = {}
        self._lock = threading.Lock()

    def open(self, id: str, cancel: Callable[[], None]) -> Ring:
        """A new stream, in place of the one that the conversation had; `cancel` ends what fills it."""
        self.drop(id)
        with self._lock:
            ring = self._rings[id] = Ring(cancel)
            self._forget_old()
        return ring

    def get(self, id: str) -> Ring:
        """The stream of a conversation. Raises NotFound."""
        with self._lock:
            self._forget_old()
            found = self._rings.get(id)
        if found is None:
            raise NotFound("the stream is not there, or not any more", "conv_id")
        return found

    def drop(self, id: str) -> None:
        """Forget a conversation's stream, and end the work for it."""
        with self._lock:
            ring = self._rings.pop(id, None)
        if ring is not None:
            ring.finish()  # first: readers are not told that the answer is complete
            ring.cancel()

    def find(self, ids: tuple[str, ...]) -> list[tuple[str, Ring]]:
        """The streams with these ids, or with a model's name behind them: `id::model`."""
        with self._lock:
            self._forget_old()
            known = list(self._rings.items())
        asked = {id: place for place, id in reversed(list(enumerate(ids)))}  # ids may be many more than streams
        found = ((asked[id], name, ring) for name, ring in known for id in _ids_of(name) if id in asked)
        return [(name, ring) for _, name, ring in sorted(found, key=lambda item: item[0])]

    def _forget_old(self) -> None:
        now = time.time()
        ended = sorted((ring.completed, id) for id, ring in self._rings.items() if ring.completed)
        size = sum(ring.size for ring in self._rings.values())
        for completed, id in ended:
            if len(self._rings) > MOST or size > ALL or now - completed > KEPT:
                size -= self._rings.pop(id).size


def _ids_of(name: str) -> Iterator[str]:
    """The ids by which a stream is found: its whole name, and what comes before a `::` in it."""
    yield name
    end = name.find("::")
    while end >= 0:
        yield name[:end]
        end = name.find("::", end + 1)


def conversations(service: Service) -> Conversations:
    """Those of `service`."""
    return service.resource("conversations", lambda _: Conversations())


def lookup_streams(service: Service, body: Mapping[str, Any]) -> list[dict[str, object]]:
    """How far the streams of the conversations are whose ids the caller knows. Raises InvalidRequest."""
    asked = body.get("conversation_ids")
    ids: tuple[str, ...] = () if asked is None else list_of(text()).read("conversation_ids", asked)
    return [
        {
            "conversation_id": id,
            "is_done": ring.completed > 0,
            "total_bytes": ring.total,
            "started_at": int(ring.started),
            "completed_at": int(ring.completed),
        }
        for id, ring in conversations(service).find(tuple(filter(None, ids)))
    ]
