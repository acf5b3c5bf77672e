"""Adapters in small graphs: what they mean, who reads what, and that unused ones leave no trace."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from llama.kernels.compiled import CompiledExecutor
from llama.kernels.executor import Executor
from llama.kernels.graph import Graph, ShapeError
from llama.kernels.reference import ReferenceExecutor
from llama.kernels.tensor import Tensor
from tests.kernels.graphs import N_VOCAB, batch

WIDTH, OUT, RANK, ADAPTERS = 24, 40, 3, 2
RNG = np.random.default_rng(5)


def random_tensor(name: str, *shape: int) -> Tensor:
    return Tensor.of(name, RNG.standard_normal(shape).astype(np.float32))


TABLE, W = random_tensor("table", N_VOCAB, WIDTH), random_tensor("w", OUT, WIDTH)
A, B = random_tensor("a", ADAPTERS * RANK, WIDTH), random_tensor("b", OUT, ADAPTERS * RANK)
STEP = replace(
    batch(
        (np.array([3, 9, 4], np.int32), 0, [0]),
        (np.array([7], np.int32), 0, [1]),
        (np.array([3, 9], np.int32), 0, [2]),
    ),
    scales=np.array([[0.5, 9, 0.0], [0.0, 9, -2.0], [0.0, 9, 0.0]], np.float32),
)


def graph(*, selected: bool = False, shared: bool = False) -> Graph:
    """x @ W.T adapted by adapters 0 and 2, with the wanted rows only, or added to the product that was adapted."""
    g = Graph()
    x, scales = g.embed(TABLE), g.adapter_scales((0, 2), (1.0, 0.25))
    if selected:
        x, scales = g.select(x), g.select(scales)
    y = g.linear(x, W)
    z = g.adapted(y, x, scales, A, B)
    g.finish(x, g.add(g.unary(z, "tanh"), y) if shared else z)
    return g


def by_hand(tokens: NDArray[np.int32], scales: NDArray[np.float32]) -> NDArray[np.float32]:
    """One sequence's rows, by the merged matrix."""
    a, b = A.floats(), B.floats()
    parts = [slice(0, RANK), slice(RANK, 2 * RANK)]
    factors = scales[0], scales[2] * np.float32(0.25)
    merged = W.floats() + sum(f * (b[:, p] @ a[p]) for f, p in zip(factors, parts, strict=True))
    return np.asarray(TABLE.floats()[tokens] @ merged.T, np.float32)


@pytest.fixture(params=["numpy", "compiled"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def executor(kind: str, g: Graph) -> Executor:
    made = ReferenceExecutor(g) if kind == "numpy" else CompiledExecutor(g, n_threads=2)
    made.allocate(4, 4)
    return made


def test_each_sequence_meets_the_matrix_that_its_scales_make(kind: str) -> None:
    e = executor(kind, graph())
    tokens = [[3, 9, 4], [7], [3, 9]]
    expected = [by_hand(np.array(t), s) for t, s in zip(tokens, STEP.scales, strict=True)]  # type: ignore[arg-type]
    np.testing.assert_allclose(e.run(STEP), np.concatenate(expected), rtol=1e-4, atol=1e-4)
    e.close()


def test_wanted_rows_have_the_scales_of_their_sequences(kind: str) -> None:
    whole, some = executor(kind, graph()), executor(kind, graph(selected=True))
    expected = whole.run(STEP)[[1, 3, 5]].copy()
    np.testing.assert_allclose(some.run(replace(STEP, outputs=np.array([1, 3, 5], np.int32))), expected, rtol=1e-5)
    whole.close()
    some.close()


def test_the_unadapted_product_stays_for_others(kind: str) -> None:
    e, plain, adapted = (executor(kind, g) for g in (graph(shared=True), graph(), graph()))
    base = plain.run(replace(STEP, scales=None)).copy()
    np.testing.assert_allclose(e.run(STEP), np.tanh(adapted.run(STEP)) + base, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(e.run(replace(STEP, scales=None)), np.tanh(base) + base, rtol=1e-4, atol=1e-5)
    for each in (e, plain, adapted):
        each.close()


@pytest.mark.parametrize("scales", [None, np.zeros((3, 3), np.float32)])
def test_without_scales_the_product_keeps_its_bits(kind: str, scales: NDArray[np.float32] | None) -> None:
    g = Graph()
    x = g.embed(TABLE)
    g.finish(x, g.linear(x, W))
    plain, e = executor(kind, g), executor(kind, graph())
    e.run(STEP)  # leaves numbers where the next step must not find them
    np.testing.assert_array_equal(e.run(replace(STEP, scales=scales)), plain.run(STEP))
    plain.close()
    e.close()


def test_matrices_that_do_not_fit_are_refused() -> None:
    g = Graph()
    x, scales = g.embed(TABLE), g.adapter_scales((0, 1), (1.0, 1.0))
    y = g.linear(x, W)
    for a, b in ((B, A), (A, W), (random_tensor("a", 4, WIDTH + 1), B)):
        with pytest.raises(ShapeError):
            g.adapted(y, x, scales, a, b)
