"""Hidden states of whole inputs, computed by the engine's thread between the steps of the running texts."""

from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future

import numpy as np
from numpy.typing import NDArray

from llama.engine.assembly import Assembly
from llama.engine.cache import ROOT, Chain, Lora
from llama.engine.memory import Memory
from llama.engine.metrics import Metrics
from llama.engine.model import LanguageModel
from llama.errors import Unavailable

AT_ONCE = 16  # inputs in one step

Hidden = NDArray[np.float32]


class Input:
    """One input, read with the adapters `lora`; `result` will hold its hidden states, (T, n_embd)."""

    __slots__ = ("chain", "lora", "parts", "result", "tokens")

    def __init__(self, tokens: Sequence[int], lora: Lora = ROOT) -> None:
        self.tokens, self.lora = list(tokens), lora
        self.result: Future[Hidden] = Future()
        self.chain: Chain | None = None
        self.parts: list[Hidden] = []


class Embedder:
    """A queue of inputs. An encoder reads an input in one go, other models in chunks of `n_batch` tokens."""

    def __init__(self, model: LanguageModel, memory: Memory, metrics: Metrics, n_ctx: int, n_batch: int) -> None:
        self._model, self._memory, self._metrics = model, memory, metrics
        self._n_batch = n_batch
        room = max(n_ctx, n_batch) if model.is_encoder else n_batch
        self._assembly = Assembly(room, AT_ONCE, memory.pool.blocks_for(n_ctx) + 1)
        self._queue: deque[Input] = deque()

    @property
    def busy(self) -> bool:
        return bool(self._queue)

    def add(self, item: Input) -> None:
        self._queue.append(item)

    def step(self) -> bool:
        """Evaluate the next chunk; False if there was none, or no cache blocks for it now."""
        while self._queue and self._queue[0].result.cancelled():
            self._done(self._queue[0])
        parts = self._choose()
        if not parts:
            return False
        try:
            hidden = self._model.forward(self._assembly.batch(), hidden=True)
        except Exception as error:  # noqa: BLE001 - whatever the model does, the engine lives
            for item, _ in parts:
                self._done(item, error)
            return True
        self._metrics.prompt_tokens += self._assembly.n_tokens
        self._collect(parts, hidden)
        return True

    def fail_all(self, error: Exception) -> None:
        """End everything with `error`."""
        while self._queue:
            self._done(self._queue[0], error)

    def _choose(self) -> list[tuple[Input, int]]:
        """The inputs of the next step, each with how many tokens of it; they are in the assembly then."""
        self._assembly.clear()
        chosen: list[tuple[Input, int]] = []
        left = self._n_batch
        for item in list(self._queue)[: 1 if self._model.has_state else AT_ONCE]:
            chain = item.chain = item.chain or self._memory.blank(item.lora)
            pending = len(item.tokens) - chain.length
            n = pending if self._model.is_encoder else min(pending, left)
            if (n > left and chosen) or n == 0 or not self._memory.pool.extend(chain, n):
                break
            self._assembly.add(chain, item.tokens[chain.length : chain.length + n], n)
            chosen.append((item, n))
            left -= n
        return chosen

    def _collect(self, parts: list[tuple[Input, int]], hidden: Hidden) -> None:
        row = 0
        for item, n in parts:
            assert item.chain is not None
            item.parts.append(np.array(hidden[row : row + n]))
            item.chain.length += n
            row += n
            if item.chain.length == len(item.tokens):
                self._done(item)

    def _done(self, item: Input, error: Exception | None = None) -> None:
        self._queue.remove(item)
        if item.chain is not None:
            item.chain.length = 0  # nothing of it was recorded, so there is nothing to find again
            self._memory.drop(item.chain)
        if not item.result.set_running_or_notify_cancel():
            return
        if error is not None:
            item.result.set_exception(error)
        else:
            item.result.set_result(np.concatenate(item.parts))


def gone(message: str) -> Unavailable:
    """The error of work that the engine will not do any more."""
    return Unavailable(message, retry_after=5)
