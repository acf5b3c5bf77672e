"""The numpy executor: one function an operation, called in the graph's order."""

import numpy as np
from numpy.typing import NDArray

from llama.kernels.batch import Batch
from llama.kernels.graph import Graph
from llama.kernels.reference import adapters, attention, elements, matrices, recurrent, rows
from llama.kernels.reference.memory import Memory
from llama.kernels.reference.step import OPERATIONS, Step
from llama.kernels.reference.weights import WeightStore

#: The modules whose import fills OPERATIONS.
_MODULES = (adapters, attention, elements, matrices, recurrent, rows)


class ReferenceExecutor:
    """Implements the `Executor` protocol. Keys and values are float32 unless a smaller type is asked for."""

    name = "numpy"

    def __init__(self, graph: Graph, *, block_size: int = 32, type_k: str = "f32", type_v: str = "f32") -> None:
        self.block_size = block_size
        self._graph = graph
        self._weights = WeightStore()
        self._memory = Memory(graph, block_size, type_k, type_v)
        self._last_use = _last_uses(graph)
        self.block_bytes = sum(pages.block_bytes for pages in self._memory.pages)

    def allocate(self, n_blocks: int, n_states: int) -> None:
        """Make room for so many cache blocks and state slots, dropping what was there."""
        self._memory.allocate(n_blocks, n_states)

    def run(self, batch: Batch, *, hidden: bool = False) -> NDArray[np.float32]:
        """Logits (O, n_vocab) of the batch's output rows, or hidden states (O, n_embd)."""
        result = self._graph.hidden if hidden else self._graph.logits
        if result is None:
            raise ValueError("this graph has no logits; ask for hidden states")
        step = Step(self._graph, batch, self._weights, self._memory)
        self._reset_states(batch)
        for index, node in enumerate(self._graph.nodes):
            step.values.append(OPERATIONS[node.op](step, node))
            for used in self._last_use[index]:
                step.values[used] = None
            if index == result.index:
                break
        return step.value(result.index)

    def _reset_states(self, batch: Batch) -> None:
        fresh = batch.states[batch.positions == 0] if self._memory.states else ()
        for state in self._memory.states:
            state[fresh] = 0

    def copy_block(self, source: int, target: int) -> None:
        """Copy all layers of a cache block."""
        for pages in self._memory.pages:
            pages.data[target] = pages.data[source]

    def copy_state(self, source: int, target: int) -> None:
        """Copy all layers of a state slot."""
        for state in self._memory.states:
            state[target] = state[source]

    def read_block(self, block: int) -> bytes:
        """The content of a cache block, for saving to disk."""
        return self._memory.read_block(block)

    def write_block(self, block: int, content: bytes) -> None:
        """Put back what `read_block` gave."""
        self._memory.write_block(block, content)

    def read_state(self, state: int) -> bytes:
        """The content of a state slot, for saving to disk."""
        return self._memory.read_state(state)

    def write_state(self, state: int, content: bytes) -> None:
        """Put back what `read_state` gave."""
        self._memory.write_state(state, content)

    def close(self) -> None:
        """Let go of the memory."""
        self._weights = WeightStore()
        self._memory.allocate(0, 0)


def _last_uses(graph: Graph) -> list[list[int]]:
    """For each node, the values that no later node reads; results are kept."""
    last = {used: index for index, node in enumerate(graph.nodes) for used in node.inputs}
    for result in (graph.hidden, graph.logits):
        if result is not None:
            last.pop(result.index, None)
    uses: list[list[int]] = [[] for _ in graph.nodes]
    for used, index in last.items():
        uses[index].append(used)
    return uses
