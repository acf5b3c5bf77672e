"""The engine as the rest of the house sees it: submit requests, look at slots, cancel, stop. Safe from any thread."""

import atexit
import os
import threading
import time
import weakref
from collections.abc import Callable
from collections.abc import Sequence as Items
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from llama.engine import persist
from llama.engine.cache import ROOT, Lora
from llama.engine.embedding import Input
from llama.engine.handle import Handle
from llama.engine.loop import Limits, Loop
from llama.engine.metrics import Metrics
from llama.engine.model import Loaded
from llama.engine.request import Request
from llama.engine.sequence import Sequence
from llama.engine.slot import Slot, SlotInfo
from llama.engine.worker import State, Worker
from llama.errors import Cancelled, ContextOverflow, InvalidRequest, NotSupported

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Running:
    """A request that is not finished, for the list of running requests."""

    id: str
    state: str  # "queued" or "running"
    n_prompt: int
    n_decoded: int
    seconds: float


class Engine:
    """One model, one thread, many requests.

    load         makes the model; runs in the engine's thread, after `start`
    n_slots      choices that are generated at the same time
    n_ctx        positions of the context, 0: as many as the model was trained for
    n_shares     a sequence may have the n-th part of the context, in steps of 256; 1: all of it
    n_cells      positions the cache holds for all together, at least n_ctx
    n_batch      tokens a step evaluates at most
    n_queue      choices that may wait for a slot; more are refused
    """

    def __init__(
        self,
        load: Callable[[], Loaded],
        *,
        n_slots: int = 4,
        n_ctx: int = 0,
        n_batch: int = 512,
        n_queue: int = 64,
        n_cells: int = 0,
        n_shares: int = 1,
        n_checkpoints: int = 8,
        context_shift: bool = False,
    ) -> None:
        self._load = load
        self._limits = Limits(
            n_slots=n_slots,
            n_ctx=n_ctx,
            n_batch=n_batch,
            n_queue=n_queue,
            n_cells=n_cells,
            n_shares=n_shares,
            n_checkpoints=n_checkpoints,
            context_shift=context_shift,
        )
        self._lock = threading.Lock()
        self._worker = Worker(load, self._limits)
        self._started = False
        atexit.register(_stop_at_exit, weakref.ref(self))

    def start(self) -> None:
        """Begin to load the model, unless that has begun already. In a forked child, begin anew."""
        if self._worker.pid != os.getpid():
            self._lock = threading.Lock()  # the parent's may have been held at the moment of the fork
            self._worker, self._started = Worker(self._load, self._limits), False
        with self._lock:
            if not self._started:
                self._started = True
                self._worker.start()

    ensure_started = start

    def stop(self, grace: float = 0.0, *, wait: bool = True) -> None:
        """Refuse new requests, let running ones go on for `grace` seconds, then end them. Safe to repeat."""
        if self._worker.pid == os.getpid():
            self._worker.stop(grace, wait=wait and self._started)

    def wait_until_ready(self, timeout: float | None = None) -> bool:
        """True once requests are served; False if loading failed or took longer than `timeout` seconds."""
        self.start()
        return self._worker.wait_until_loaded(timeout)

    @property
    def state(self) -> State:
        return self._worker.state

    @property
    def error(self) -> Exception | None:
        """Why loading failed."""
        return self._worker.error

    @property
    def metrics(self) -> Metrics:
        return self._worker.metrics

    @property
    def limits(self) -> Limits:
        """The limits in force; before the model is loaded, as they were given."""
        loop = self._worker.loop
        return loop.limits if loop else self._limits

    @property
    def loaded(self) -> Loaded:
        """What the loader made. Raises Unavailable while there is none."""
        return self._worker.ready().loaded

    def pulse_age(self) -> float:
        """Seconds since the engine last showed that it is alive; 0 while it has nothing to do."""
        return self._worker.pulse_age()

    def expecting(self) -> AbstractContextManager[None]:
        """For the time in which a request is made ready: an idle engine then waits a moment to start it with others."""
        return self._worker.expecting()

    def submit(self, request: Request) -> Handle:
        """Queue a request. Samplers and grammars are made here, so their errors are raised here.

        Raises Unavailable while loading or stopping and when the queue is full, ContextOverflow when the prompt is too
        long, InvalidRequest when it is empty.
        """
        self.start()
        worker = self._worker
        loop = worker.ready()
        self._check(request, loop)
        worker.check_queue(request.n)
        handle = Handle(request, worker.wake)
        sequences = [Sequence(request, index, handle, loop.loaded) for index in range(request.n)]
        for sequence in sequences[1:]:
            sequence.leader = sequences[0]
        handle.seeds = tuple(sequence.writer.sampler.seed for sequence in sequences)
        worker.put(sequences)
        return handle

    def _check(self, request: Request, loop: Loop) -> None:
        if loop.loaded.model.is_encoder:
            raise NotSupported("this model makes embeddings and cannot generate text")
        check_tokens(request.prompt, loop.loaded.model.n_vocab)
        n_ctx = loop.limits.n_ctx
        if len(request.prompt) > n_ctx or (len(request.prompt) == n_ctx and request.n_predict != 0):
            raise ContextOverflow(len(request.prompt), n_ctx)

    def running(self) -> list[Running]:
        """The requests that are not finished, oldest first."""
        now = time.monotonic()
        found: dict[int, list[Sequence]] = {}
        for sequence in self._worker.sequences():
            found.setdefault(id(sequence.handle), []).append(sequence)
        return [
            Running(
                choices[0].request.id,
                "running" if any(s.admitted for s in choices) else "queued",
                choices[0].n_prompt,
                sum(s.writer.n_tokens for s in choices),
                now - choices[0].handle.created,
            )
            for choices in found.values()
        ]

    def cancel(self, id: str) -> int:
        """End the requests whose public id this is, by `Failed(Cancelled)`; return how many there were."""
        if not id:
            return 0
        handles = {sequence.handle for sequence in self._find(id)}
        for handle in handles:
            handle.abort(Cancelled("the request was cancelled"))
        return len(handles)

    def end_reasoning(self, id: str) -> int:
        """Force the end of the thoughts that are open in the requests of this id; return how many there were."""
        thoughts = [s.writer.thought for s in self._find(id) if s.writer.thought is not None]
        return sum(thought.end() for thought in thoughts)

    def _find(self, id: str) -> list[Sequence]:
        return [sequence for sequence in self._worker.sequences() if sequence.request.id == id]

    def slots(self) -> list[SlotInfo]:
        """A picture of every slot; empty while loading."""
        loop = self._worker.loop
        return [slot.info(loop.limits.n_ctx) for slot in loop.slots] if loop else []

    @property
    def n_waiting(self) -> int:
        """Requests' choices that wait for a slot."""
        loop = self._worker.loop
        return max(0, self._worker.n_open - len(loop.running)) if loop else 0

    def submit_inputs(self, inputs: Items[Items[int]], lora: Lora = ROOT) -> "list[Future[NDArray[np.float32]]]":
        """Queue inputs for embedding; each future gives the hidden states of all tokens, (T, n_embd).

        lora: how strong each adapter is.
        """
        self.start()
        worker = self._worker
        loop = worker.ready()
        for tokens in inputs:
            check_tokens(tokens, loop.loaded.model.n_vocab, "input")
            if len(tokens) > loop.limits.n_ctx:
                raise InvalidRequest(
                    f"input ({len(tokens)} tokens) is too large to process, the context holds {loop.limits.n_ctx} "
                    "tokens; increase the context size or shorten the input",
                    "input",
                )
        items = [Input(tokens, lora) for tokens in inputs]
        worker.embed(items)
        return [item.result for item in items]

    def embed(self, inputs: Items[Items[int]], lora: Lora = ROOT) -> list[NDArray[np.float32]]:
        """The hidden states of all tokens of each input, (T, n_embd)."""
        return [future.result() for future in self.submit_inputs(inputs, lora)]

    def save_slot(self, slot: int, path: Path) -> persist.SlotFile:
        """Write what the cache holds for `slot` to `path`."""
        begun = time.monotonic()
        snapshot = self._with_slot(
            slot,
            lambda loop, slot: persist.take(
                loop.memory, loop.loaded.model.executor, slot.tokens, slot.lora, loop.loaded.model.has_state
            ),
        )
        size = persist.write(path, snapshot, self._fingerprint())
        return persist.SlotFile(len(snapshot.tokens), size, (time.monotonic() - begun) * 1000)

    def restore_slot(self, slot: int, path: Path) -> persist.SlotFile:
        """Bring what `save_slot` wrote to `path` back into the cache, for `slot`."""
        begun = time.monotonic()
        snapshot, size = persist.read(path, self._fingerprint())
        n = len(snapshot.tokens)
        if n > self.limits.n_ctx:
            raise ContextOverflow(n, self.limits.n_ctx)

        def put(loop: Loop, slot: Slot) -> None:
            persist.put(loop.memory, loop.loaded.model.executor, snapshot)
            slot.tokens, slot.lora = list(snapshot.tokens), snapshot.lora

        self._with_slot(slot, put)
        return persist.SlotFile(n, size, (time.monotonic() - begun) * 1000)

    def erase_slot(self, slot: int) -> int:
        """Forget what the cache holds for `slot`, as far as nobody uses it; return how many tokens that was."""

        def erase(loop: Loop, slot: Slot) -> int:
            n = len(slot.tokens)
            loop.memory.forget(slot.tokens, slot.lora)
            slot.tokens = []
            return n

        return self._with_slot(slot, erase)

    def _with_slot(self, id: int, work: Callable[[Loop, Slot], T]) -> T:
        self.start()
        return self._worker.with_slot(id, work)

    def _fingerprint(self) -> str:
        loaded = self._worker.ready().loaded
        executor = loaded.model.executor
        return f"{loaded.fingerprint}/{executor.name}/{executor.block_size}/{executor.block_bytes}"


def check_tokens(tokens: Items[int], n_vocab: int, field: str = "prompt") -> None:
    """Raises InvalidRequest unless there are tokens and all of them are in the vocabulary."""
    if not tokens:
        raise InvalidRequest(f'"{field}" must not be empty: it has no tokens', field)
    if min(tokens) < 0 or max(tokens) >= n_vocab:
        wrong = next(token for token in tokens if not 0 <= token < n_vocab)
        raise InvalidRequest(f'"{field}": token {wrong} is not in the vocabulary of {n_vocab} tokens', field)


def _stop_at_exit(engine: "weakref.ref[Engine]") -> None:
    """Threads that run compiled code while the interpreter goes away crash."""
    alive = engine()
    if alive is not None:
        alive.stop()
