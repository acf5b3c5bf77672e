"""A graph that puts adapters into a model as its architecture builds it; architectures know nothing of them.

Whatever goes through a matrix that some adapters change also goes through their pairs, side by side: the pairs of all
adapters are padded to one rank and make one narrow product, and the scale of each adapter multiplies its columns.
"""

import re
from collections.abc import Sequence
from typing import Literal

import numpy as np
from gguf import GGMLQuantizationType
from numpy.typing import NDArray

from llama.errors import ModelFileError
from llama.kernels.graph import Graph, Value
from llama.kernels.tensor import Tensor
from llama.models.adapter import LOOKED_UP, Adapter, Pair

#: Types whose elements can be laid side by side without being unpacked.
PLAIN: dict[int, type[np.unsignedinteger]] = {
    GGMLQuantizationType.F32: np.uint32,
    GGMLQuantizationType.F16: np.uint16,
    GGMLQuantizationType.BF16: np.uint16,
}
#: What `Tensor.rows` calls a part of a matrix.
PART = re.compile(r"(.+)\[(\d+):(\d+)\]")


class AdaptedGraph(Graph):
    """Builds what `Graph` builds, with the pairs of `adapters` beside the matrices that they change."""

    def __init__(self, adapters: Sequence[Adapter]) -> None:
        super().__init__()
        self._adapters = adapters
        self._used: set[str] = set()
        self._selected: set[int] = set()  # values that have the wanted rows only
        self._strengths: dict[tuple[tuple[int, ...], tuple[float, ...], bool], Value] = {}
        self._stacks: dict[str, tuple[Tensor, Tensor]] = {}

    def _add(
        self,
        op: str,
        width: int,
        inputs: Sequence[Value] = (),
        weights: Sequence[Tensor | None] = (),
        **attrs: object,
    ) -> Value:
        value = super()._add(op, width, inputs, weights, **attrs)
        if op == "select" or any(x.index in self._selected for x in inputs):
            self._selected.add(value.index)
        return value

    def linear(self, x: Value, w: Tensor, bias: Tensor | None = None) -> Value:
        """x @ w.T + bias, and what the adapters add. One of embeddings does not change logits made of them."""
        y = super().linear(x, w, bias)
        part = PART.fullmatch(w.name)
        name = part[1] if part else w.name
        pairs = {} if name.endswith(LOOKED_UP) else self._pairs(name)
        if not pairs:
            return y
        a, b = self._stacked(name, pairs)
        if part:
            b = b.rows(int(part[2]), int(part[3]))
        return self.adapted(y, x, self._scales(pairs, x), a, b)

    def expert_linear(self, x: Value, w: Tensor, chosen: Value, bias: Tensor | None = None) -> Value:
        """Slot k goes through expert chosen[k] and through that expert's pairs."""
        y = super().expert_linear(x, w, chosen, bias)
        pairs = self._pairs(w.name)
        if not pairs:
            return y
        a, b = self._stacked(w.name, pairs)
        narrow = super().expert_linear(x, a, chosen)
        narrow = self.mul(narrow, self._scales(pairs, x, chosen.width // 2))
        return self.add(y, super().expert_linear(narrow, b, chosen))

    def embed(self, table: Tensor, index: Literal["token", "position", "zero"] = "token") -> Value:
        """Row of `table`, and what the adapters add to a token's."""
        y = super().embed(table, index)
        pairs = self._pairs(table.name) if table.name.endswith(LOOKED_UP) and index == "token" else {}
        if not pairs:
            return y
        a, b = self._stacked(table.name, pairs)
        narrow = super().embed(a)
        narrow = self.mul(narrow, self._scales(pairs, y))
        return self.add(y, super().linear(narrow, b))

    def check(self) -> None:
        """Raise ModelFileError if an adapter changes something that the model does not use as a matrix."""
        for adapter in self._adapters:
            for name in adapter.pairs:
                if name not in self._used:
                    raise ModelFileError(
                        f"{adapter.path}: adapters of {name} do not work, this model does not use it as a plain matrix"
                    )

    def _pairs(self, name: str) -> dict[int, Pair]:
        """The pairs for a matrix, by the number of the adapter."""
        pairs = {i: adapter.pairs[name] for i, adapter in enumerate(self._adapters) if name in adapter.pairs}
        if pairs:
            self._used.add(name)
        return pairs

    def _scales(self, pairs: dict[int, Pair], x: Value, slots: int = 1) -> Value:
        """How strong each of the pairs is for the rows of x; `slots` times side by side."""
        ids, factors = tuple(pairs) * slots, tuple(pair.factor for pair in pairs.values()) * slots
        selected = x.index in self._selected
        key = ids, factors, selected
        if key not in self._strengths:
            scales = self.adapter_scales(ids, factors)
            self._strengths[key] = self.select(scales) if selected else scales
        return self._strengths[key]

    def _stacked(self, name: str, pairs: dict[int, Pair]) -> tuple[Tensor, Tensor]:
        """All first and all second matrices side by side, along the axis of ranks."""
        if name not in self._stacks:
            rank = max(pair.rank for pair in pairs.values())
            axis = -1 if name.endswith(LOOKED_UP) else -2
            a = beside([pair.a for pair in pairs.values()], axis, rank)
            self._stacks[name] = a, beside([pair.b for pair in pairs.values()], -1, rank)
        return self._stacks[name]


def beside(tensors: Sequence[Tensor], axis: int, size: int) -> Tensor:
    """The tensors along an axis, each filled up with zeros to `size` there; quantised ones become floats."""
    kind = int(tensors[0].type)
    if kind not in PLAIN or any(tensor.type != kind for tensor in tensors):
        tensors = [Tensor.of(tensor.name, tensor.floats()) for tensor in tensors]
        kind = int(GGMLQuantizationType.F32)
    if len(tensors) == 1:
        return tensors[0]
    whole = np.concatenate([_filled(_elements(tensor, kind), axis, size) for tensor in tensors], axis)
    return Tensor(tensors[0].name, kind, whole.shape, np.ascontiguousarray(whole).view(np.uint8))


def _elements(tensor: Tensor, kind: int) -> NDArray[np.unsignedinteger]:
    return np.ascontiguousarray(tensor.data).view(PLAIN[kind])


def _filled(values: NDArray[np.unsignedinteger], axis: int, size: int) -> NDArray[np.unsignedinteger]:
    room = [(0, 0)] * values.ndim
    room[axis] = (0, size - values.shape[axis])
    return np.pad(values, room)
