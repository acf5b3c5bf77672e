"""A graph as a table of steps: which kernel runs, on which buffers, and where threads must wait for each other.

Values live in buffers, one row a token; a buffer is used again once its value is dead. A step waits at the barrier
only if it touches what a step since the last barrier has touched, unless both work on the same rows in one thread.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llama.kernels.threads import ARGS, ROW


@dataclass(frozen=True, slots=True)
class At:
    """An address known when memory is bound: of buffer, cache layer or state `index`, plus `offset`."""

    kind: str
    index: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel by name; `build` makes the function when it is not in the code cache."""

    name: str
    build: Callable[[], Callable[..., None]]


@dataclass(slots=True)
class Step:
    """One row of the table. `rows`: the kind of rows when every thread touches only its own ones, else None."""

    kernel: Kernel
    args: list[int | At]
    reads: set[Hashable]
    writes: set[Hashable]
    rows: int | None = None
    wait: bool = False


@dataclass(slots=True)
class Plan:
    """The steps of a graph and the bytes that a row of each buffer takes."""

    steps: list[Step] = field(default_factory=list)
    strides: list[int] = field(default_factory=list)
    _free: dict[int, list[int]] = field(default_factory=dict)
    _open: list[Step] = field(default_factory=list)

    def buffer(self, stride: int) -> int:
        """A buffer with `stride` bytes a row."""
        free = self._free.get(stride)
        if free:
            return free.pop()
        self.strides.append(stride)
        return len(self.strides) - 1

    def release(self, buffer: int) -> None:
        """The buffer's value is dead."""
        self._free.setdefault(self.strides[buffer], []).append(buffer)

    def add(self, step: Step) -> None:
        """Append a step, deciding whether it must wait."""
        step.wait = any(_conflict(step, other) for other in self._open)
        if step.wait:
            self._open.clear()
        self._open.append(step)
        self.steps.append(step)

    @staticmethod
    def counter_bytes(threads: int) -> int:
        """Bytes of a step's counters, one for each thread's share: whole cache lines."""
        return -(-threads // 8) * 64

    def table(
        self, address: Callable[[Kernel], int], resolve: Callable[[At], int], counters: int, counter_bytes: int
    ) -> NDArray[np.int64]:
        """The table for kernels and memory at these addresses; `counters`: `counter_bytes` for each step."""
        table = np.zeros((len(self.steps), ROW), np.int64)
        for i, step in enumerate(self.steps):
            args: list[Any] = [resolve(arg) if isinstance(arg, At) else arg for arg in step.args]
            table[i, :ARGS] = address(step.kernel), step.wait, counters + counter_bytes * i
            table[i, ARGS : ARGS + len(args)] = args
        return table


def _conflict(a: Step, b: Step) -> bool:
    if a.rows is not None and a.rows == b.rows:
        return False
    return bool(a.writes & (b.reads | b.writes) or a.reads & b.writes)
