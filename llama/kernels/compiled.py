"""The compiled executor: a table of steps that all threads run from top to bottom, without Python between."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from llama.errors import NotSupported
from llama.folder import default_cache_dir
from llama.kernels import adapters, detect, operations, sequences
from llama.kernels.attention import scratch_bytes
from llama.kernels.attention_tiles import POSITIONS, CacheType
from llama.kernels.batch import Batch
from llama.kernels.codecache import Compiler
from llama.kernels.context import SCRATCH, SCRATCH_BYTES
from llama.kernels.dot import SETS
from llama.kernels.graph import Attention, Graph, Value
from llama.kernels.lowering import Lowering, Unsupported
from llama.kernels.memory import Memory
from llama.kernels.packing import Packer
from llama.kernels.plan import At, Kernel
from llama.kernels.ropes import RopeTables
from llama.kernels.running import Context, parts_of
from llama.kernels.storage import Storage
from llama.kernels.threads import Threads
from llama.kernels.weights import Weights

__all__ = ["CompiledExecutor", "Unsupported"]

MOST_ROWS = 512  # tokens in one pass; longer batches are run in parts
MOST_WANTED = 64  # results in one pass
_MODULES = (adapters, operations, sequences)  # whose import registers the operations


def default_code_folder() -> Path:
    """Where compiled code is kept unless told otherwise."""
    return default_cache_dir() / "kernels"


class CompiledExecutor:
    """Implements the `Executor` protocol. Raises Unsupported for a graph or a cache type that it cannot run.

    kernels: "auto" or the name of a kernel set (see detect.py); n_threads 0: all cores we may use; code_folder: where
    compiled code is kept between runs.
    """

    block_size = POSITIONS

    def __init__(
        self,
        graph: Graph,
        *,
        n_threads: int = 0,
        type_k: str = "f16",
        type_v: str = "f16",
        n_ctx: int = 0,
        kernels: str = "auto",
        code_folder: Path | None = None,
    ) -> None:
        for kind in (type_k, type_v):
            if kind not in ("f16", "f32", "q8_0"):
                raise Unsupported(f"cache type {kind}")
        try:
            self.name = detect.choose(kernels)
        except NotSupported as problem:
            raise Unsupported(str(problem)) from problem
        self._graph = graph
        self._compiler = Compiler(code_folder or default_code_folder())
        self._threads = Threads(n_threads, self._compiler)
        self.n_threads = self._threads.n
        packer = Packer(self._threads, self._compiler, signed=SETS[self.name].signed_codes)
        self._weights = Weights(packer)
        types = CacheType(type_k), CacheType(type_v)
        lowering = Lowering(graph, self._weights, self.name, *types, self.n_threads)
        self._plan = lowering.run()
        self._lowering = lowering
        self._ropes = RopeTables(lowering.ropes, n_ctx)
        self._storage = Storage(graph, *types)
        self.block_bytes = self._storage.block_bytes
        self._context = Context(lowering.piece_tokens, self._partial_row_bytes())
        self._causal = all(a.causal for a in self._attentions())
        self._counters = Memory(self._plan.counter_bytes(self.n_threads) * max(1, len(self._plan.steps)))
        self._scratch = self._new_scratch()
        self._rows = 0
        self._bind(POSITIONS)

    def _attentions(self) -> list[Attention]:
        found = [node.attrs["attention"] for node in self._graph.nodes if node.op == "attention"]
        return [a for a in found if isinstance(a, Attention)]

    def _partial_row_bytes(self) -> int:
        """Bytes that all rows of a piece need for one span's result."""
        widest = max((a.head_v for a in self._attentions()), default=0)
        return self._lowering.piece_rows * 4 * (-(-widest // 32) * 32 + 16)

    def _new_scratch(self) -> Memory:
        sizes = [scratch_bytes(self._lowering.piece_rows, a.head_k, a.head_v) for a in self._attentions()]
        size = -(-max([*sizes, self._lowering.scratch]) // 4096) * 4096 + 4096
        memory = Memory(size * self.n_threads)
        self._context.values[SCRATCH], self._context.values[SCRATCH_BYTES] = memory.address, size
        return memory

    # --- memory ---

    def _bind(self, rows: int) -> None:
        """Give every buffer room for `rows` rows, a multiple of 8 (see matmul.py), and write the table of steps."""
        if rows > self._rows:
            self._rows = rows
            self._buffers = [Memory(stride * rows) for stride in self._plan.strides]
        self._table = self._plan.table(
            self._address, self._resolve, self._counters.address, self._counters.size // max(1, len(self._plan.steps))
        )
        self._n_hidden = self._steps_to(self._graph.hidden)

    def _address(self, kernel: Kernel) -> int:
        return self._compiler.address(kernel.name, kernel.build)

    def _resolve(self, place: At) -> int:
        if place.kind == "buffer":
            return self._buffers[place.index].address + place.offset
        if place.kind == "rope":
            return self._ropes.slot(place.index)
        return self._storage.address(place.kind, place.index)

    def _steps_to(self, value: Value | None) -> int:
        """How many steps until `value` is computed."""
        return len(self._table) if value is None else self._lowering.steps_after[value.index]

    def allocate(self, n_blocks: int, n_states: int) -> None:
        """Make room for so many cache blocks and state slots, dropping what was there."""
        self._storage.allocate(n_blocks, n_states)
        self._bind(self._rows)

    # --- running ---

    def run(self, batch: Batch, *, hidden: bool = False) -> NDArray[np.float32]:
        """Evaluate `batch`; return the logits (O, n_vocab) of its output rows, or their hidden states (O, n_embd).

        The array belongs to the executor and is overwritten by the next call.
        """
        value = self._graph.hidden if hidden else self._graph.logits
        if value is None:
            raise ValueError("this graph has no such result")
        parts = list(parts_of(batch, MOST_ROWS, MOST_WANTED)) if self._causal else [batch]
        earlier = [self._run(part, value).copy() for part in parts[:-1]]
        last = self._run(parts[-1], value)
        return np.concatenate([*earlier, last]) if earlier else last

    def _run(self, batch: Batch, value: Value) -> NDArray[np.float32]:
        n = len(batch.tokens)
        if n > self._rows:
            self._bind(-(-n // POSITIONS) * POSITIONS)
        self._storage.reset_states(batch)
        longest = self._context.fill(batch)
        self._ropes.cover(longest)
        self._counters.bytes[:] = 0
        last = len(self._table) if value is self._graph.logits else self._n_hidden
        self._threads.run(self._table[:last], self._context.address)
        return self._result(value, batch)

    def _result(self, value: Value, batch: Batch) -> NDArray[np.float32]:
        place = self._lowering.places[value.index]
        rows = self._buffers[place].bytes.view(np.float32).reshape(-1, self._plan.strides[place] // 4)
        wanted = self._lowering.kinds[value.index]
        chosen = rows[: len(batch.outputs)] if wanted else rows[batch.outputs]
        return chosen[:, : value.width]

    # --- single blocks and states ---

    def copy_block(self, source: int, target: int) -> None:
        """Copy all layers of a cache block."""
        self._storage.copy_block(source, target)

    def copy_state(self, source: int, target: int) -> None:
        """Copy all layers of a state slot."""
        self._storage.copy_state(source, target)

    def read_block(self, block: int) -> bytes:
        """The content of a cache block, for saving to disk."""
        return self._storage.read_block(block)

    def write_block(self, block: int, content: bytes) -> None:
        """Put back what `read_block` gave."""
        self._storage.write_block(block, content)

    def read_state(self, state: int) -> bytes:
        """The content of a state slot, for saving to disk."""
        return self._storage.read_state(state)

    def write_state(self, state: int, content: bytes) -> None:
        """Put back what `read_state` gave."""
        self._storage.write_state(state, content)

    def close(self) -> None:
        """Stop the threads and let go of the memory. Safe to call twice."""
        self._threads.close()
        self._buffers = []
        self._storage.allocate(0, 0)
