"""The caller's end of a request: events come out, cancellation goes in. Safe from any thread."""

import queue
import time
from collections import deque
from collections.abc import Callable, Iterator

from llama.engine.request import Event, Failed, Finished, Request


class Handle:
    """A submitted request. One thread reads the events; any thread may cancel.

    `seeds` are the seeds in use, one a choice.
    """

    def __init__(self, request: Request, wake: Callable[[], None]) -> None:
        self.request = request
        self.id = request.id
        self.created = time.monotonic()
        self.seeds: tuple[int, ...] = ()
        self.over = False  # nobody waits for more: cancelled, or failed
        self.done = False  # the reader has seen the last event
        self._open = request.n
        self._published: list[Event | None] = []
        self._delivered: queue.SimpleQueue[list[Event | None]] = queue.SimpleQueue()
        self._received: deque[Event | None] = deque()
        self._wake = wake

    def events(self, timeout: float | None = None) -> Event | None:
        """The next event; None when `timeout` seconds passed without one, or when no more will come (`done`)."""
        if self.done:
            return None
        if not self._received:
            try:
                self._received.extend(self._delivered.get(timeout=timeout))
            except queue.Empty:
                return None
        event = self._received.popleft()
        if isinstance(event, Finished):
            self._open -= 1
        self.done = event is None or isinstance(event, Failed) or not self._open
        return event

    def __iter__(self) -> Iterator[Event]:
        """All events until every choice is finished, or the request failed or was cancelled."""
        while (event := self.events()) is not None:
            yield event

    def cancel(self) -> None:
        """Let go of the request: its slots are free within two steps, and no more events come. Safe to repeat."""
        if not self.over:
            self.over = True
            self._delivered.put([None])
            self._wake()

    def abort(self, error: Exception) -> None:
        """End the request with `error` from the engine's side; its reader gets `Failed`."""
        if not self.over:
            self.over = True
            self._delivered.put([Failed(error)])
            self._wake()

    def publish(self, event: Event) -> None:
        """Note an event; only for the engine's thread, which calls `deliver` at the end of its step."""
        self._published.append(event)

    def deliver(self) -> None:
        """Hand all that was published to the reader, in one go: it is woken once."""
        if self._published:
            published, self._published = self._published, []
            self._delivered.put(published)
