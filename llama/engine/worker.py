"""The engine's thread: loads the model, then takes turns between what came in, the running texts and embeddings."""

import logging
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal, TypeVar

from llama.engine.embedding import Embedder, Input
from llama.engine.loop import Limits, Loop
from llama.engine.metrics import Metrics
from llama.engine.model import Loaded
from llama.engine.sequence import Sequence
from llama.engine.slot import Slot
from llama.errors import LlamaError, NotFound, QueueFull, Unavailable

log = logging.getLogger(__name__)

State = Literal["loading", "ready", "failed", "stopping"]
T = TypeVar("T")

SWITCH = 0.0005  # seconds: the engine must not wait long for the interpreter lock while others parse and tokenise
PATIENCE = 30.0  # seconds that work on a slot waits for it to be free
GATHER = 0.01  # seconds that an idle engine waits for requests that are being made ready while others are there already
STEP = 256  # positions: a share of the context is a multiple, as with llama.cpp
BLOCKED = 0.005  # seconds until the next try when work is waiting that cannot go on yet


class Worker:
    """One life of the engine: from loading to stopping, in one process. A forked child needs a new one."""

    def __init__(self, load: Callable[[], Loaded], limits: Limits) -> None:
        self.pid = os.getpid()
        self.state: State = "loading"
        self.error: Exception | None = None
        self.metrics = Metrics()
        self.loop: Loop | None = None
        self.embedder: Embedder | None = None
        self._load, self._limits = load, limits
        self._wake = threading.Condition()
        self._inbox: deque[list[Sequence]] = deque()
        self._jobs: deque[tuple[Future[Any], Callable[[Loop], Any]]] = deque()
        self._submitted = 0
        self._expected = 0
        self._deadline: float | None = None
        self._pulse: float | None = None  # None while there is nothing to do
        self._thread = threading.Thread(target=self._run, name="llama-engine", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, grace: float, *, wait: bool) -> None:
        """Take nothing new; let what runs go on for `grace` seconds, then end it."""
        deadline = time.monotonic() + grace
        with self._wake:
            self.state = "stopping"
            self._deadline = min(self._deadline or deadline, deadline)
            self._wake.notify_all()
        if wait and self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(grace + 5)

    def wait_until_loaded(self, timeout: float | None) -> bool:
        """True once the model is there; False if loading failed or takes longer than `timeout` seconds."""
        with self._wake:
            self._wake.wait_for(lambda: self.state != "loading", timeout)
        return self.state == "ready"

    def pulse_age(self) -> float:
        """Seconds since the thread last began a turn; 0 while there is nothing to do."""
        pulse = self._pulse
        return time.monotonic() - pulse if pulse is not None else 0.0

    def wake(self) -> None:
        """Have the thread look again."""
        with self._wake:
            self._wake.notify_all()

    def ready(self) -> Loop:
        """The loop, or Unavailable with the reason why there is none."""
        if self.state == "loading":
            raise Unavailable("Loading model", retry_after=2)
        if self.state == "failed" or self.loop is None:
            raise Unavailable(f"the model could not be loaded: {self.error or type(self.error).__name__}")
        if self.state == "stopping":
            raise Unavailable("the server is stopping", retry_after=5)
        return self.loop

    def put(self, sequences: list[Sequence]) -> None:
        """Queue the choices of a request. Raises Unavailable when the queue is full."""
        with self._wake:
            self.check_queue(len(sequences))
            self._submitted += len(sequences)
            self._inbox.append(sequences)
            self._wake.notify_all()

    def check_queue(self, n: int) -> None:
        """Raises Unavailable if `n` more choices are too many."""
        loop = self.ready()
        waiting = self.n_open + n - loop.limits.n_slots
        if self.n_open and waiting > loop.limits.n_queue:
            history = self.metrics.request_seconds
            mean = history.sum / max(1, sum(history.counts))
            raise QueueFull(
                f"the queue is full: {self.n_open} requests are running or waiting, try again later",
                retry_after=int(min(60, max(1, mean))),
            )

    @property
    def n_open(self) -> int:
        """Choices that are running or waiting."""
        return self._submitted - self.metrics.n_closed

    def sequences(self) -> list[Sequence]:
        """The choices that are running or waiting, oldest first."""
        with self._wake:
            new = [sequence for sequences in self._inbox for sequence in sequences]
        return [*self.loop.running, *self.loop.waiting, *new] if self.loop else []

    @contextmanager
    def expecting(self) -> Iterator[None]:
        """While a request is made ready in another thread: an idle engine waits a moment, to read prompts together."""
        with self._wake:
            self._expected += 1
        try:
            yield
        finally:
            with self._wake:
                self._expected -= 1
                self._wake.notify_all()

    def call(self, work: Callable[[Loop], T]) -> "Future[T]":
        """Have the thread do `work` between two steps."""
        future: Future[T] = Future()
        with self._wake:
            self.ready()
            self._jobs.append((future, work))
            self._wake.notify_all()
        return future

    def with_slot(self, id: int, work: Callable[[Loop, Slot], T]) -> T:
        """Have the thread do `work` as soon as the slot is free. Raises Unavailable if it stays busy for long."""
        n_slots = len(self.ready().slots)
        if not 0 <= id < n_slots:
            raise NotFound(f"there is no slot {id}, slots are 0 to {n_slots - 1}", "id_slot")

        def attempt(loop: Loop) -> tuple[T] | None:
            slot = loop.slots[id]
            return (work(loop, slot),) if slot.sequence is None else None

        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            done = self.call(attempt).result()
            if done is not None:
                return done[0]
            time.sleep(0.02)
        raise Unavailable(f"slot {id} is busy", retry_after=5)

    def embed(self, items: list[Input]) -> None:
        """Queue inputs for embedding."""

        def add(loop: Loop) -> None:
            assert self.embedder is not None
            for item in items:
                self.embedder.add(item)

        self.call(add)

    def _run(self) -> None:
        sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH))
        try:
            self._open(self._load())
            while self._turn():
                pass
        except Exception as error:
            log.error("the engine cannot go on: %s", error, exc_info=not isinstance(error, LlamaError))
            with self._wake:
                self.error, self.state = error, "failed"
                self._wake.notify_all()
            self._refuse(error)
        else:
            self._refuse(Unavailable("the server is stopping", retry_after=5))
            assert self.loop is not None
            self.loop.loaded.model.executor.close()
        self._pulse = None

    def _open(self, loaded: Loaded) -> None:
        limits, model = self._limits, loaded.model
        whole = limits.n_ctx or model.n_ctx_train or 4096
        n_ctx = min(whole, -(-whole // (STEP * limits.n_shares)) * STEP)
        n_cells = max(limits.n_cells, whole, n_ctx * limits.n_shares)
        limits = replace(limits, n_ctx=n_ctx, n_cells=n_cells, n_batch=max(1, limits.n_batch))
        loop = Loop(loaded, limits, self.metrics)
        self.embedder = Embedder(model, loop.memory, self.metrics, n_ctx, limits.n_batch)
        with self._wake:
            self.loop = loop
            if self.state == "loading":
                self.state = "ready"
            self._wake.notify_all()

    def _turn(self) -> bool:
        """Take in what is new and do one step; False when it is time to stop."""
        self._rest()
        self._pulse = time.monotonic()
        loop, embedder = self.loop, self.embedder
        assert loop is not None
        assert embedder is not None
        self._take_in(loop)
        if loop.waiting and not loop.running and self._expected:
            self._gather(loop)
        if self._deadline is not None and self._is_over(loop, embedder, self._deadline):
            return False
        try:
            progress = loop.step() | embedder.step()
        except Exception as error:
            log.exception("the engine stumbled; its requests are ended")
            self._recover(loop, embedder, error)
            progress = True
        if not progress and (loop.busy or embedder.busy):
            with self._wake:
                self._wake.wait(BLOCKED)
        return True

    def _rest(self) -> None:
        """Sleep until there is something to do."""
        with self._wake:
            while not (self._inbox or self._jobs or self._deadline is not None or self._busy):
                self._pulse = None
                self._wake.wait()

    @property
    def _busy(self) -> bool:
        return bool((self.loop and self.loop.busy) or (self.embedder and self.embedder.busy))

    def _take_in(self, loop: Loop) -> None:
        while self._inbox:
            loop.add(self._inbox.popleft())
        while self._jobs:
            future, work = self._jobs.popleft()
            try:
                future.set_result(work(loop))
            except Exception as error:  # noqa: BLE001 - handed to the caller
                future.set_exception(error)

    def _gather(self, loop: Loop) -> None:
        """Take in what comes together with the first request: prompts read in one step cost less than one by one."""
        with self._wake:
            self._wake.wait_for(lambda: not self._expected or self.n_open >= loop.limits.n_slots, GATHER)
        self._take_in(loop)

    def _is_over(self, loop: Loop, embedder: Embedder, deadline: float) -> bool:
        """While stopping: refuse what has not begun; True when nothing runs or the grace is used up."""
        stopping = Unavailable("the server is stopping", retry_after=5)
        loop.refuse_waiting(stopping)
        if time.monotonic() > deadline:
            loop.fail_all(stopping)
            embedder.fail_all(stopping)
        return not (loop.busy or embedder.busy)

    def _recover(self, loop: Loop, embedder: Embedder, error: Exception) -> None:
        """Something in the engine itself broke: end its requests, and begin anew with an empty cache."""
        for sequence in [*loop.running, *loop.waiting]:
            sequence.handle.abort(error)
            self.metrics.n_closed += 1
        embedder.fail_all(error)
        self._open(loop.loaded)

    def _refuse(self, error: Exception) -> None:
        """End with `error` whatever is left; the thread does no more work."""
        for sequence in self.sequences():
            sequence.handle.abort(error)
        if self.embedder is not None:
            self.embedder.fail_all(error)
        with self._wake:
            for future, _ in self._jobs:
                future.set_exception(error)
            self._inbox.clear()
            self._jobs.clear()
