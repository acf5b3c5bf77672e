"""The heart of the engine: `step()` admits, batches, evaluates, samples and publishes. One thread calls it."""

import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from llama.engine.assembly import Assembly
from llama.engine.cache import BlockPool
from llama.engine.memory import Checkpoints, Memory, SharedBlocks
from llama.engine.metrics import Metrics
from llama.engine.model import Loaded
from llama.engine.pace import Pace
from llama.engine.scheduler import Share, grant, wanted
from llama.engine.sequence import Sequence
from llama.engine.shift import shifted
from llama.engine.slot import Slot, choose
from llama.engine.writer import End
from llama.errors import LlamaError

log = logging.getLogger(__name__)

SCORED_VALUES = 1 << 23  # logits that a step may make while a prompt is scored: 32 MiB


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much there is of everything. n_cells: positions the cache holds for all sequences together.

    Before the model is loaded, n_ctx is the whole context, or 0, of which a sequence gets the n_shares-th part.
    """

    n_slots: int = 4
    n_ctx: int = 4096
    n_batch: int = 512
    n_queue: int = 64
    n_cells: int = 4096
    n_shares: int = 1
    n_checkpoints: int = 8
    context_shift: bool = False


class Loop:
    """Slots, cache and queue of one model. `running` and `waiting` are in order of arrival."""

    def __init__(self, loaded: Loaded, limits: Limits, metrics: Metrics) -> None:
        self.loaded, self.limits, self.metrics = loaded, limits, metrics
        self.slots = [Slot(i) for i in range(limits.n_slots)]
        self.running: list[Sequence] = []
        self.waiting: list[Sequence] = []
        self._arrivals = 0
        self.memory = self._allocate()
        self._pace = Pace(limits.n_batch)
        width = self.memory.pool.blocks_for(limits.n_ctx) + 1
        self._assembly = Assembly(limits.n_batch + limits.n_slots, limits.n_slots, width)
        self._scored_rows = max(1, SCORED_VALUES // max(1, loaded.model.n_vocab))

    def _allocate(self) -> Memory:
        model, limits = self.loaded.model, self.limits
        longest = -(-limits.n_ctx // model.block_size) + 1
        n_blocks = max(-(-limits.n_cells // model.block_size), longest) + limits.n_slots + 1
        n_states = limits.n_slots + 1 + limits.n_checkpoints if model.has_state else 0
        model.executor.allocate(n_blocks, n_states)
        pool = BlockPool(model.executor, n_blocks, model.block_size, longest)
        if not model.has_state:
            return SharedBlocks(pool)
        return Checkpoints(pool, model.executor, limits.n_slots + 1, limits.n_checkpoints)

    @property
    def busy(self) -> bool:
        return bool(self.running or self.waiting)

    def add(self, sequences: Iterable[Sequence]) -> None:
        """Queue the choices of one request."""
        self._arrivals += 1
        for sequence in sequences:
            sequence.arrival = (self._arrivals, sequence.index)
            self.waiting.append(sequence)

    def step(self) -> bool:
        """Do the next piece of work for everybody; False if there was nothing to do."""
        self._sweep()
        self._admit()
        shares = self._schedule()
        if not shares:
            return False
        logits = self._forward(shares)
        if logits is not None:
            self._spread(shares, logits)
        self._deliver(shares)
        return True

    def fail_all(self, error: Exception) -> None:
        """End everything with `error`."""
        for sequence in [*self.running, *self.waiting]:
            sequence.handle.abort(error)
        self._sweep()

    def refuse_waiting(self, error: Exception) -> None:
        """End with `error` what nobody has begun to work on."""
        for sequence in self.waiting:
            if not (sequence.leader or sequence).admitted:
                sequence.handle.abort(error)

    def _sweep(self) -> None:
        """Let go of sequences whose callers are gone or whose requests failed."""
        for sequence in [s for s in self.running if s.handle.over]:
            self.metrics.n_cancelled += 1
            if sequence.prompt_done:
                self.metrics.add_tokens(sequence.timings(time.monotonic()))
            self._leave(sequence)
        if any(sequence.handle.over for sequence in self.waiting):
            gone = sum(sequence.handle.over for sequence in self.waiting)
            self.waiting = [sequence for sequence in self.waiting if not sequence.handle.over]
            self.metrics.n_closed += gone
            self.metrics.n_cancelled += gone

    def _admit(self) -> None:
        """Give free slots to those who wait, first come first served."""
        if not self.waiting or len(self.running) == len(self.slots):
            return
        now = time.monotonic()
        for sequence in list(self.waiting):
            if not sequence.ready:
                continue
            slot = choose(self.slots, sequence)
            if slot is None and sequence.pinned:
                continue
            if slot is None or not self._enter(sequence, slot, now):
                return

    def _enter(self, sequence: Sequence, slot: Slot, now: float) -> bool:
        """Start `sequence` in `slot`, unless cache blocks are short."""
        limit = sequence.reusable
        if sequence.pinned and not sequence.admitted:
            # who names a slot continues what that slot holds, as with llama-server
            limit = min(limit, slot.shares(sequence))
        if self.running:
            needed = self.memory.needed(sequence.tokens, limit, sequence.request.lora) + len(self.running)
            while needed > self.memory.pool.available:
                if not self.memory.give_way():
                    return False
        self.waiting.remove(sequence)
        if not sequence.admitted:
            self.metrics.queue_seconds.observe(now - sequence.handle.created)
        sequence.start(self.memory.open(sequence.tokens, limit, sequence.request.lora), slot.id, now)
        slot.take(sequence, sequence.arrival[0], now)
        self.running.append(sequence)
        self.running.sort(key=lambda s: s.arrival)
        return True

    def _schedule(self) -> list[Share]:
        """Whose tokens the next step evaluates, with cache blocks for them."""
        model = self.loaded.model
        if not model.has_state:
            for sequence in self.running:
                if sequence.pending > 1 and not sequence.pinned:
                    self._join(sequence)
        shares = wanted(self.running, self._pace.budget, self._most, sharing=not model.has_state)
        return grant(shares, self.memory.pool, self._make_room)

    def _join(self, sequence: Sequence) -> None:
        """Take what other sequences have read of the same prompt in the meantime."""
        assert sequence.chain is not None
        found = self.memory.join(sequence.chain, sequence.tokens, sequence.reusable)
        if not sequence.prompt_done and not sequence.came_back:
            sequence.cache_n += found

    def _most(self, sequence: Sequence) -> int:
        """Tokens that a step may read of one sequence."""
        assert sequence.chain is not None
        most = self.memory.stretch(sequence.chain, sequence.n_prompt)
        return min(most, self._scored_rows) if sequence.scoring else most

    def _make_room(self, sequence: Sequence) -> bool:
        """Free blocks for `sequence`: the youngest that came later than it goes back to the queue."""
        if self.memory.give_way():
            return True
        youngest = self.running[-1]
        if youngest.arrival <= sequence.arrival:
            return False
        self.metrics.n_preempted += 1
        self._vacate(youngest)
        youngest.came_back = True
        self.waiting.append(youngest)
        self.waiting.sort(key=lambda s: s.arrival)
        return True

    def _forward(self, shares: list[Share]) -> NDArray[np.float32] | None:
        """Evaluate the shares; None if that failed, and with it their requests."""
        self._assembly.clear()
        for share in shares:
            sequence, chain = share.sequence, share.sequence.chain
            assert chain is not None
            share.n_outputs = sequence.outputs(share.n)
            tokens = sequence.tokens[chain.length : chain.length + share.n]
            share.row = self._assembly.add(chain, tokens, share.n_outputs)
        speaking = sum(share.speaks for share in shares)
        begun = time.perf_counter()
        try:
            logits = self.loaded.model.forward(self._assembly.batch())
        except Exception as error:  # noqa: BLE001 - whatever the model does, the engine lives
            for share in shares:
                self._fail(share.sequence, error)
            return None
        self._pace.measured(speaking, self._assembly.n_tokens - speaking, time.perf_counter() - begun)
        self.metrics.n_decode += 1
        self.metrics.n_busy_slots += len(shares)
        return logits

    def _spread(self, shares: list[Share], logits: NDArray[np.float32]) -> None:
        """Hand each sequence its rows of the result."""
        for share in shares:
            try:
                self._advance(share, logits[share.row : share.row + share.n_outputs])
            except Exception as error:  # noqa: BLE001 - one failing request fails alone
                self._fail(share.sequence, error)

    def _deliver(self, shares: list[Share]) -> None:
        """Send what the step brought, at its end: readers that are woken want the interpreter, and we still need it."""
        for share in shares:
            share.sequence.handle.deliver()

    def _advance(self, share: Share, logits: NDArray[np.float32]) -> None:
        sequence, chain = share.sequence, share.sequence.chain
        assert chain is not None
        self.memory.pool.record(chain, sequence.tokens[chain.length : chain.length + share.n])
        if not sequence.prompt_done:
            self.memory.reached(chain, sequence.tokens, sequence.n_prompt)
            sequence.report_progress(time.monotonic())
        sequence.score(logits)
        if sequence.pending:
            return
        if not sequence.prompt_done:
            sequence.prompt_done = time.monotonic()
            sequence.report_scores()
            if sequence.request.n_predict == 0:
                return self._finish(sequence, End("limit"))
        self._write(sequence, logits[-1])

    def _write(self, sequence: Sequence, logits: NDArray[np.float32]) -> None:
        """Let the sequence say its next token."""
        end = sequence.write(logits, self._room(sequence))
        if end is not None:
            self._finish(sequence, end)
        elif len(sequence.tokens) >= self.limits.n_ctx:
            self._shift(sequence)

    def _room(self, sequence: Sequence) -> int:
        """How many more tokens the context holds when one more is in it."""
        if not self.limits.context_shift:
            return self.limits.n_ctx - len(sequence.tokens) - 1
        if sequence.request.n_predict >= 0:
            return 1
        # without a limit of its own, a text that is shifted on and on ends somewhere
        return max(self.limits.n_ctx, self.loaded.model.n_ctx_train) - sequence.writer.n_tokens - 1

    def _shift(self, sequence: Sequence) -> None:
        """The context is full: drop the middle, and read what came after it again at its new place."""
        assert sequence.chain is not None
        self.memory.release(sequence.chain, sequence.tokens)
        sequence.tokens = shifted(sequence.request, sequence.tokens, sequence.n_prompt, self.loaded.vocab.add_bos)
        sequence.truncated = True
        sequence.chain = self.memory.open(sequence.tokens, len(sequence.tokens) - 1, sequence.request.lora)

    def _finish(self, sequence: Sequence, end: End) -> None:
        assert sequence.chain is not None
        n_cached = sequence.chain.length
        self._leave(sequence)
        self.metrics.add_choice(sequence.timings(time.monotonic()), time.monotonic() - sequence.handle.created)
        sequence.report_end(end, n_cached)

    def _fail(self, sequence: Sequence, error: Exception) -> None:
        """End the whole request with `error`; its other choices go at the next step."""
        if sequence.handle.over:
            return
        if not isinstance(error, LlamaError):
            log.error("request %s failed", sequence.request.id or "?", exc_info=error)
        self.metrics.n_failed += 1
        sequence.handle.abort(error)
        if sequence in self.running:
            self._leave(sequence)

    def _leave(self, sequence: Sequence) -> None:
        """The sequence is through: its slot and its blocks are free."""
        self._vacate(sequence)
        self.metrics.n_closed += 1

    def _vacate(self, sequence: Sequence) -> None:
        chain = sequence.chain
        assert chain is not None
        read = sequence.tokens[: chain.length]
        self.metrics.n_tokens_max = max(self.metrics.n_tokens_max, len(sequence.tokens))
        self.memory.release(chain, read)
        sequence.chain = None
        self.slots[sequence.slot].leave(read, chain.lora, time.monotonic())
        self.running.remove(sequence)
