"""The requests of one call, a prompt each: submitted a few at a time, their events merged into one stream."""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from llama.engine.handle import Handle
from llama.engine.request import Event, Failed, Request
from llama.errors import QueueFull

TICK = 0.05  # seconds without an event after which the reader may look around


class Submit(Protocol):
    """What `Engine.submit` is."""

    def __call__(self, request: Request) -> Handle:
        """Take the request. Raises Unavailable and InvalidRequest."""
        ...


@dataclass(slots=True)
class _Running:
    prompt: int
    handle: Handle


class Run:
    """The events of several requests. The first is submitted at once, so that a refusal is an error and no stream."""

    def __init__(self, submit: Submit, requests: Sequence[Request], window: int) -> None:
        self._submit = submit
        self._waiting = deque(enumerate(requests))
        self._running: list[_Running] = []
        self._window = max(1, window)
        self._cancelled = False
        self.seeds: dict[int, tuple[int, ...]] = {}
        self._fill(must=True)

    def events(self) -> Iterator[tuple[int, Event] | None]:
        """Every event with the number of its prompt, until all requests are done; None when nothing came for a moment.

        Raises the error of a request that failed, or was cancelled by its id; the others are let go.
        """
        try:
            while self._running or (self._waiting and not self._cancelled):
                yield from self._round()
        finally:
            self.cancel()

    def cancel(self) -> None:
        """Let go of all requests. Safe from any thread, and to repeat."""
        self._cancelled = True  # the reader, who alone touches the waiting ones, submits no more of them
        for running in list(self._running):
            running.handle.cancel()

    def _round(self) -> Iterator[tuple[int, Event] | None]:
        """Wait for the first request, then take what the others have: all of them advance in the same steps."""
        silent = True
        for at, running in enumerate(list(self._running)):
            event = running.handle.events(timeout=TICK if at == 0 else 0)
            while event is not None:
                silent = False
                if isinstance(event, Failed):
                    raise event.error
                yield running.prompt, event
                event = None if running.handle.done else running.handle.events(timeout=0)
            if running.handle.done:
                self._running.remove(running)
        self._fill()
        if not self._running and self._waiting and not self._cancelled:
            time.sleep(TICK)  # others fill the queue
        if silent:
            yield None

    def _fill(self, *, must: bool = False) -> None:
        while self._waiting and len(self._running) < self._window and not self._cancelled:
            prompt, request = self._waiting[0]
            try:
                handle = self._submit(request)
            except QueueFull:
                if must and not self._running:
                    raise
                return  # try again when one of ours is done
            self._waiting.popleft()
            self.seeds[prompt] = handle.seeds
            self._running.append(_Running(prompt, handle))
