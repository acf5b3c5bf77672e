"""Turns the operations of a graph into steps of a plan. One function an operation; those not here are not supported."""

import struct
from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial

from llama.kernels import attention, matmul
from llama.kernels.attention_tiles import CacheType
from llama.kernels.graph import Attention, Graph, Node, Rope
from llama.kernels.layout import BLOCK, GROUP, layout_of
from llama.kernels.packing import Packed
from llama.kernels.plan import At, Kernel, Plan, Step
from llama.kernels.weights import Weights


class Unsupported(Exception):
    """The compiled kernels cannot run this graph."""


def bits(value: float) -> int:
    """A float32 as the integer that arguments carry."""
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def row_bytes(width: int) -> int:
    """Bytes of a row of floats: whole vectors."""
    return -(-width // GROUP) * GROUP * 4


class Lowering:
    """Walks a graph once and fills a plan. `places`: value index -> buffer; `kinds`: value index -> kind of rows."""

    def __init__(
        self, graph: Graph, weights: Weights, kernel_set: str, type_k: CacheType, type_v: CacheType, threads: int
    ) -> None:
        self.graph, self.weights, self.kernel_set = graph, weights, kernel_set
        self.type_k, self.type_v, self.threads = type_k, type_v, threads
        self.plan = Plan()
        self.places: dict[int, int] = {}
        self.kinds: dict[int, int] = {}
        self.ropes: list[Rope] = []
        self._rope_keys: dict[tuple[bytes, float], int] = {}
        self.scratch = 0  # bytes that some kernel needs for each thread
        self.steps_after: dict[int, int] = {}  # value -> steps until it is there
        self._quantised: dict[tuple[int, int], int] = {}
        self._done: set[int] = set()
        self._results = {v.index for v in (graph.hidden, graph.logits) if v is not None}
        self._users: dict[int, list[int]] = {}
        for index, node in enumerate(graph.nodes):
            for used in node.inputs:
                self._users.setdefault(used, []).append(index)
        attentions = [n.attrs["attention"] for n in graph.nodes if n.op == "attention"]
        groups = [a.n_head // a.n_head_kv for a in attentions if isinstance(a, Attention)]
        self.piece_tokens = min((attention.tokens_of_piece(group) for group in groups), default=1)
        self.piece_rows = -(-self.piece_tokens * max(groups, default=1) // 4) * 4

    def run(self) -> Plan:
        """Lower all nodes. Raises Unsupported."""
        for index, node in enumerate(self.graph.nodes):
            if index not in self._done:
                lower = OPERATIONS.get(node.op)
                if lower is None:
                    raise Unsupported(f"operation {node.op}")
                lower(self, index, node)
            self.steps_after[index] = len(self.plan.steps)
            self._release(index)
        return self.plan

    # --- buffers ---

    def last_use(self, value: int) -> int:
        """The node that reads a value last; beyond all nodes for results."""
        return len(self.graph.nodes) if value in self._results else max(self._users.get(value, [value]))

    def _release(self, index: int) -> None:
        for value in [v for v in self.places if self.last_use(v) <= index and v not in self._results]:
            buffer = self.places.pop(value)
            if buffer not in self.places.values():
                self.plan.release(buffer)
            for key in [key for key in self._quantised if key[0] == value]:
                self.plan.release(self._quantised.pop(key))

    def place(self, value: int, kind: int, *, over: int | None = None) -> int:
        """A buffer for a new value; that of value `over` when this node is the last to read it and it fits."""
        width = row_bytes(self.graph.nodes[value].width)
        self.kinds[value] = kind
        dying = over is not None and self.last_use(over) <= value and over not in self._results
        if dying and over is not None and self.plan.strides[self.places[over]] == width:
            self.places[value] = self.places[over]
        else:
            self.places[value] = self.plan.buffer(width)
        return self.places[value]

    def at(self, value: int, offset: int = 0) -> At:
        """Address of a value's first row."""
        return At("buffer", self.places[value], offset)

    def stride(self, value: int) -> int:
        """Bytes between a value's rows."""
        return self.plan.strides[self.places[value]]

    def add(
        self,
        kernel: Kernel,
        args: list[int | At],
        reads: set[Hashable],
        writes: set[Hashable],
        by_rows: int | None = None,
    ) -> None:
        """Append a step to the plan."""
        self.plan.add(Step(kernel, args, reads, writes, by_rows))

    def rowwise(self, index: int, node: Node, kernel: Kernel, *more: int | At, over: bool = True) -> None:
        """A step that makes each row of its value from the same rows of its inputs."""
        x = node.inputs[0]
        kind = self.kinds[x]
        source, stride = self.at(x), self.stride(x)
        reads: set[Hashable] = {self.places[i] for i in node.inputs}
        out = self.place(index, kind, over=x if over else None)
        args = [kind, source, stride, self.at(index), self.stride(index), *more]
        self.add(kernel, args, reads, {out}, kind)

    # --- matrices ---

    def quantised(self, value: int, segments: int = 1) -> tuple[At, int, Hashable]:
        """Address, stride and buffer of a value quantised in some segments; done once."""
        if (value, segments) not in self._quantised:
            width = self.graph.nodes[value].width // segments
            buffer = self.plan.buffer(segments * matmul.quantised_width(width))
            kind, out, halves = self.kinds[value], At("buffer", buffer), self._wants_halves(value)
            args: list[int | At] = [kind, self.at(value), self.stride(value), width // BLOCK, out]
            args += [self.plan.strides[buffer], segments]
            kernel = Kernel(f"quantise {halves}", partial(matmul.build_quantise, halves))
            self.add(kernel, args, {self.places[value]}, {buffer}, kind)
            self._quantised[value, segments] = buffer
        buffer = self._quantised[value, segments]
        return At("buffer", buffer), self.plan.strides[buffer], buffer

    def _wants_halves(self, value: int) -> bool:
        """Whether a matrix that meets a value has scales for 16 columns: half blocks are summed on their own then."""
        weights = [self.graph.nodes[user].weights for user in self._users.get(value, [])]
        return any(w[0] is not None and layout_of(w[0].type).sub < BLOCK for w in weights if w)

    def multiply(
        self,
        x: tuple[At, int, Hashable, int],
        kind: int,
        w: Packed,
        matrix: int,
        out: At,
        stride: int,
        bias: int = 0,
        residual: tuple[At, int] | None = None,
    ) -> None:
        """A step x[segment of the same number] @ w[matrix].T + bias + residual."""
        layout, groups = w.layout, -(-w.rows // GROUP)
        steps = w.columns if layout.is_float else w.columns // BLOCK
        piece = max(1, groups // (4 * self.threads))
        kernel = Kernel(
            f"linear {self.kernel_set} {layout.name}", partial(matmul.build_linear, self.kernel_set, layout)
        )
        source = replace(x[0], offset=x[0].offset + matrix * x[3])
        args: list[int | At] = [
            kind,
            source,
            x[1],
            w.codes + matrix * w.code_stride,
            w.scales + matrix * w.scale_stride,
        ]
        args += [groups, steps, out, stride, bias, *(residual or (0, 0)), piece]
        args += [steps * layout.code_bytes, 0 if layout.is_float else steps * layout.scale_bytes]
        reads = {x[2]} | ({residual[0].index} if residual else set())
        self.add(kernel, args, reads, {out.index})

    def source(self, value: int, w: Packed, segments: int = 1) -> tuple[At, int, Hashable, int]:
        """What a matrix wants of a value: floats or a quantised copy; the last number is the bytes of a segment."""
        if w.layout.is_float:
            return self.at(value), self.stride(value), self.places[value], 4 * w.columns
        return *self.quantised(value, segments), matmul.quantised_width(w.columns)

    def fused_add(self, index: int) -> tuple[int, int] | None:
        """(add node, its other operand) when the only use of node `index` is to be added to an earlier value."""
        users = self._users.get(index, [])
        if len(users) != 1 or index in self._results:
            return None
        add = self.graph.nodes[users[0]]
        if add.op != "binary" or add.attrs["f"] != "add" or add.width != self.graph.nodes[index].width:
            return None
        other = add.inputs[0] if add.inputs[1] == index else add.inputs[1]
        between = any(index < user < users[0] for user in self._users[other])
        fits = other < index and other in self.places and self.graph.nodes[other].width == add.width and not between
        return (users[0], other) if fits and self.kinds[other] == self.kinds_of_input(index) else None

    def kinds_of_input(self, index: int) -> int:
        """The kind of rows that a node's result has."""
        return self.kinds[self.graph.nodes[index].inputs[0]]

    def rope_table(self, rope: Rope) -> int:
        """The number of a rope's table; equal ropes share one."""
        key = (rope.frequencies.tobytes(), rope.magnitude)
        if key not in self._rope_keys:
            self._rope_keys[key] = len(self.ropes)
            self.ropes.append(rope)
        return self._rope_keys[key]

    def mark_done(self, index: int) -> None:
        """Node `index` has been made part of an earlier step."""
        self._done.add(index)


Lower = Callable[[Lowering, int, Node], None]
OPERATIONS: dict[str, Lower] = {}


def operation(lower: Lower) -> Lower:
    """Register the function that lowers the operation of its name."""
    OPERATIONS[lower.__name__.rstrip("_")] = lower
    return lower
