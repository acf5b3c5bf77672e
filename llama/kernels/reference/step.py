"""One run of a graph over a batch: what every operation of the reference executor may look at."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llama.kernels.batch import Batch
from llama.kernels.graph import Graph, Node
from llama.kernels.reference.memory import Memory
from llama.kernels.reference.weights import WeightStore
from llama.kernels.tensor import Tensor

Floats = NDArray[np.float32]
Operation = Callable[["Step", Node], Floats]

#: Rows multiplied at a time: enough to use the processor, few enough not to waste it on a single token. OpenBLAS
#: treats 8 rows alike with every processor's kernels; of 16 its AVX2 kernels sum some in another order.
TILE = 8
#: The function of each `Node.op`.
OPERATIONS: dict[str, Operation] = {}


def operation(function: Operation) -> Operation:
    """Register a function under its own name as the meaning of that operation."""
    OPERATIONS[function.__name__] = function
    return function


@dataclass(slots=True)
class Step:
    """The batch, the weights, the memory, and the values computed so far."""

    graph: Graph
    batch: Batch
    weights: WeightStore
    memory: Memory
    values: list[Floats | None] = field(default_factory=list)

    def inputs(self, node: Node) -> list[Floats]:
        """The values that the node reads."""
        return [self.value(index) for index in node.inputs]

    def input(self, node: Node) -> Floats:
        """The only, or the first, value that the node reads."""
        return self.value(node.inputs[0])

    def value(self, index: int) -> Floats:
        """A value computed earlier in this step."""
        value = self.values[index]
        if value is None:
            raise LookupError(f"value {index} was dropped before its last use")
        return value

    def sequences(self) -> Iterator[tuple[int, slice, int]]:
        """Each sequence of the batch: its number, its rows, the position of its first row."""
        starts = self.batch.starts
        for s, position in enumerate(self.batch.positions):
            yield s, slice(int(starts[s]), int(starts[s + 1])), int(position)

    def positions(self) -> NDArray[np.int64]:
        """(T,) the position of every row."""
        parts = [np.arange(p, p + rows.stop - rows.start) for _, rows, p in self.sequences()]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def attribute(node: Node, name: str) -> Any:
    """An attribute of a node; its type is fixed by the Graph method that made the node."""
    return node.attrs[name]


def weight(node: Node, index: int = 0) -> Tensor:
    """A weight that the node cannot do without."""
    tensor = node.weights[index]
    if tensor is None:
        raise LookupError(f"{node.op} without its weight {index}")
    return tensor


def segments(x: Floats, size: int) -> Floats:
    """(T, width / size, size) a view of the rows in segments; T may be 0."""
    return x.reshape(len(x), x.shape[1] // size, size)


def product(x: Floats, w: Floats) -> Floats:
    """x @ w.T in tiles of TILE rows.   x: (T, in)   w: (out, in)   ->   (T, out)

    BLAS picks its order of summation by the shape, so a row's result would depend on how many rows come with it.
    With tiles of one fixed height, the last one filled up with zeros, it depends on the row alone.
    """
    out = np.empty((len(x), len(w)), np.float32)
    for start in range(0, len(x), TILE):
        tile = x[start : start + TILE]
        if len(tile) < TILE:
            tile = np.concatenate([tile, np.zeros((TILE - len(tile), x.shape[1]), np.float32)])
        out[start : start + TILE] = (tile @ w.T)[: len(x) - start]
    return out
