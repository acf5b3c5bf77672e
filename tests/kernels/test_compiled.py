"""The compiled executor agrees with the numpy one, and gives the same bits whatever else is in the batch."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from llama.kernels import detect
from llama.kernels.compiled import CompiledExecutor, Unsupported
from llama.kernels.graph import Graph, Node
from llama.kernels.reference import ReferenceExecutor
from tests.kernels.graphs import N_VOCAB, batch, decoder
from tests.kernels.packs import T

LENGTH, BLOCKS = 300, 10


@contextmanager
def opened(graph: Graph, **settings: object) -> Iterator[CompiledExecutor]:
    executor = CompiledExecutor(graph, **settings)  # type: ignore[arg-type]
    executor.allocate(4 * BLOCKS, 4)
    yield executor
    executor.close()


def tokens(seed: int, n: int = LENGTH) -> NDArray[np.int32]:
    return np.random.default_rng(seed).integers(0, N_VOCAB, n).astype(np.int32)


def blocks(sequence: int) -> list[int]:
    return list(range(BLOCKS * sequence, BLOCKS * sequence + BLOCKS))


def alone(executor: CompiledExecutor, seed: int) -> NDArray[np.float32]:
    return executor.run(batch((tokens(seed), 0, blocks(seed)), states=[seed])).copy()


GRAPHS = {
    "floats": lambda: decoder(T.F32),
    "window": lambda: decoder(T.F16, window=40),
    "experts": lambda: decoder(T.F32, experts=True),
    "recurrent": lambda: decoder(T.F32, recurrent=True),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_agrees_with_the_numpy_executor(name: str) -> None:
    graph = GRAPHS[name]()
    reference = ReferenceExecutor(graph)
    reference.allocate(4 * BLOCKS, 4)
    step = batch((tokens(0, 50), 0, blocks(0)), (tokens(1, 7), 0, blocks(1)))
    expected = reference.run(step)
    with opened(graph, type_k="f32", type_v="f32") as executor:
        found = executor.run(step)
        # the last product has 8-bit activations
        np.testing.assert_allclose(found, expected, atol=0.02 * np.abs(expected).max())
        hidden = executor.run(step, hidden=True)
    np.testing.assert_allclose(hidden, reference.run(step, hidden=True), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("cache", ["f16", "q8_0"])
def test_smaller_caches_stay_close(cache: str) -> None:
    graph = decoder(T.F32)
    step = batch((tokens(0, 50), 0, blocks(0)))
    with opened(graph, type_k="f32", type_v="f32") as exact, opened(graph, type_k=cache, type_v=cache) as small:
        expected, found = exact.run(step), small.run(step)
        np.testing.assert_allclose(found, expected, atol=0.05 * np.abs(expected).max())


chunks = st.lists(st.integers(1, 90), min_size=1, max_size=12)


@pytest.mark.parametrize("settings_", [{}, {"type_k": "q8_0", "type_v": "q8_0"}, {"kernels": "llvm"}], ids=str)
@pytest.mark.parametrize("kind", ["quantised", "experts", "recurrent", "window"])
def test_random_schedules_give_the_same_bits(kind: str, settings_: dict[str, str]) -> None:
    graph = decoder(T.Q4_1) if kind == "quantised" else GRAPHS[kind]()
    with opened(graph, n_threads=1, **settings_) as lonely, opened(graph, n_threads=3, **settings_) as busy:
        expected = [alone(lonely, seed) for seed in range(3)]

        @settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), database=None)
        @given(st.tuples(chunks, chunks, chunks), st.randoms(use_true_random=False))
        def check(cuts: tuple[list[int], ...], random: object) -> None:
            run_schedule(busy, cuts, expected)

        check()


def run_schedule(executor: CompiledExecutor, cuts: tuple[list[int], ...], expected: list[NDArray[np.float32]]) -> None:
    """Run three sequences side by side, each cut in its own way; every row must be as when run alone."""
    done = [0, 0, 0]
    for turn in range(max(len(c) for c in cuts) + 1):
        parts, which = [], []
        for sequence in range(3):
            cut = cuts[sequence]
            size = cut[turn] if turn < len(cut) else LENGTH
            end = min(LENGTH, done[sequence] + size)
            if end > done[sequence]:
                parts.append((tokens(sequence)[done[sequence] : end], done[sequence], blocks(sequence)))
                which.append((sequence, done[sequence], end))
                done[sequence] = end
        if not parts:
            break
        found = executor.run(batch(*parts, states=[sequence for sequence, _, _ in which]))
        row = 0
        for sequence, start, end in which:
            np.testing.assert_array_equal(found[row : row + end - start], expected[sequence][start:end])
            row += end - start


def test_a_copied_prefix_gives_the_same_bits() -> None:
    with opened(decoder(T.Q4_1)) as executor:
        expected = alone(executor, 0)
        executor.run(batch((tokens(1), 0, blocks(1))))
        executor.copy_block(0, 20)
        content = executor.read_block(1)
        executor.write_block(11, content)
        found = executor.run(batch((tokens(0)[45:], 45, [20, *blocks(1)[1:]])))
        np.testing.assert_array_equal(found, expected[45:])


def test_states_are_kept_copied_and_saved() -> None:
    with opened(decoder(T.F32, recurrent=True)) as executor:
        expected = alone(executor, 0)
        executor.run(batch((tokens(0)[:45], 0, blocks(0)), states=[0]))
        executor.copy_state(0, 1)
        executor.write_state(2, executor.read_state(1))
        found = executor.run(batch((tokens(0)[45:], 45, blocks(0)), states=[2]))
        np.testing.assert_array_equal(found, expected[45:])


def test_what_others_left_in_a_block_does_not_matter() -> None:
    with opened(decoder(T.Q4_1)) as executor:
        expected = alone(executor, 0)
        for block in blocks(0):
            executor.write_block(block, b"\xff" * executor.block_bytes)  # float16 of ff ff is not a number
        np.testing.assert_array_equal(alone(executor, 0), expected)


@pytest.mark.parametrize("kernels", detect.runnable())
def test_every_kernel_set_runs_a_model(kernels: str) -> None:
    graph = decoder(T.Q4_1)
    reference = ReferenceExecutor(graph)
    reference.allocate(4 * BLOCKS, 4)
    step = batch((tokens(0, 20), 0, blocks(0)))
    expected = reference.run(step)
    with opened(graph, kernels=kernels) as executor:
        assert executor.name == kernels
        found = executor.run(step)
    error = ((found - expected) ** 2).sum() / (expected**2).sum()
    assert error < 5e-3


def test_only_wanted_rows_come_back() -> None:
    with opened(decoder(T.Q4_1)) as executor:
        step = batch((tokens(0, 20), 0, blocks(0)), (tokens(1, 9), 0, blocks(1)))
        everything = executor.run(step).copy()
        last = batch((tokens(0, 20), 0, blocks(0)), (tokens(1, 9), 0, blocks(1)), every=False)
        np.testing.assert_array_equal(executor.run(last), everything[[19, 28]])


def test_unknown_operations_and_cache_types_are_refused() -> None:
    graph = decoder(T.Q4_1)
    with pytest.raises(Unsupported, match="q4_0"):
        CompiledExecutor(graph, type_k="q4_0")
    with pytest.raises(Unsupported, match="cannot run"):
        CompiledExecutor(graph, kernels="quantum")
    graph.nodes.insert(1, Node("dream", 96, (0,)))
    with pytest.raises(Unsupported, match="dream"):
        CompiledExecutor(graph)
