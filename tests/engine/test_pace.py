"""How much prompt a step reads beside running streams, and who comes first."""

import numpy as np
import pytest
from numpy.typing import NDArray

from llama.engine import loop, scheduler, sequence
from llama.engine.pace import LONGEST, Pace
from llama.engine.request import Request
from llama.kernels.batch import Batch
from tests.engine.drive import GREEDY, Driver
from tests.fakes import HashModel


def test_without_streams_the_whole_batch_is_read() -> None:
    pace = Pace(512)
    pace.measured(0, pace.budget(0), 0.02)
    assert pace.budget(0) == 512


def test_a_first_step_that_took_long_is_soon_forgotten() -> None:
    pace = Pace(512)
    pace.measured(0, pace.budget(0), 20.0)
    pace.measured(0, pace.budget(0), 0.005)
    assert pace.budget(0) == 512


def test_beside_streams_a_step_stays_under_three_and_a_half_times_its_usual_length() -> None:
    pace = Pace(2048)
    speak, read = 0.007, 0.0008
    pace.measured(1, 0, speak)
    for _ in range(50):
        n = pace.budget(1)
        seconds = speak + n * read
        assert n >= 8
        assert n == 32 or seconds <= max(3.5 * speak, speak + 8 * read)
        pace.measured(1, n, seconds)


def test_the_budget_follows_when_reading_gets_dearer() -> None:
    pace = Pace(2048)
    pace.measured(0, 512, 0.2)
    pace.measured(1, 0, 0.007)
    cheap = pace.budget(1)
    for _ in range(20):
        pace.measured(1, pace.budget(1), 0.007 + pace.budget(1) * 0.002)
    assert pace.budget(1) < cheap


def test_no_step_lasts_long_even_without_streams() -> None:
    pace = Pace(2048)
    pace.measured(0, 2048, 40.0)
    assert pace.budget(0) * 40 / 2048 <= LONGEST


def test_a_long_prompt_does_not_stop_a_running_stream() -> None:
    driver = Driver(HashModel(n_ctx_train=4096), n_ctx=4096, n_cells=8192, n_batch=512)
    stream = driver.submit(Request(prompt=(1, 2, 3), sampling=GREEDY, n_predict=200))
    for _ in range(10):
        driver.loop.step()
    driver.submit(Request(prompt=tuple(i % 7 for i in range(2000)), sampling=GREEDY, n_predict=1))
    while driver.loop.running:
        before = stream._delivered.qsize()
        driver.loop.step()
        if stream in [s.handle for s in driver.loop.running]:
            assert stream._delivered.qsize() == before + 1


def reading_beside(n_said: int, seconds: float, monkeypatch: pytest.MonkeyPatch) -> int:
    """Tokens of a long prompt that the next step reads beside a text that has said so much since so long."""
    clock = Clock()
    for module in (loop, scheduler, sequence):
        monkeypatch.setattr(module, "time", clock)

    class Timed(HashModel):
        def forward(self, batch: Batch, *, hidden: bool = False) -> NDArray[np.float32]:
            clock.now += 0.001 * len(batch.tokens)
            return super().forward(batch, hidden=hidden)

    model = Timed(ends=False)
    driver = Driver(model, n_ctx=1024, n_cells=2048, n_batch=256)
    driver.submit(Request(prompt=tuple(range(40)), sampling=GREEDY, n_predict=100))
    for _ in range(n_said):
        driver.loop.step()
    clock.now += seconds
    driver.submit(Request(prompt=tuple(i % 7 for i in range(900)), sampling=GREEDY, n_predict=1))
    before = model.evaluated
    driver.loop.step()
    return model.evaluated - before - 1


def test_a_text_that_only_just_began_waits_for_prompts_that_came_with_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert reading_beside(1, 0.0, monkeypatch) == 256
    assert reading_beside(7, 0.0, monkeypatch) == 256
    assert reading_beside(8, 0.0, monkeypatch) == 8
    assert reading_beside(2, 0.2, monkeypatch) == 8


class Clock:
    """Stands in for the time module: only the model makes time pass."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    perf_counter = monotonic


def test_with_a_long_prompt_beside_it_a_streams_gaps_stay_under_five_times_the_usual(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    for module in (loop, scheduler, sequence):
        monkeypatch.setattr(module, "time", clock)

    class Timed(HashModel):
        def forward(self, batch: Batch, *, hidden: bool = False) -> NDArray[np.float32]:
            # a step costs 3 ms, a token of prompt 0.9 ms and a little more with each position before it
            n, before = len(batch.tokens), int(batch.positions.max())
            clock.now += 0.003 + (n - len(batch.positions)) * (0.0009 + before * 2e-7)
            return super().forward(batch, hidden=hidden)

    driver = Driver(Timed(ends=False), n_ctx=4096, n_cells=8192, n_batch=512)
    stream = driver.submit(Request(prompt=(1, 2, 3), sampling=GREEDY, n_predict=350))
    times = []
    for at in range(350):
        if at == 20:
            driver.submit(Request(prompt=tuple(i % 7 for i in range(2000)), sampling=GREEDY, n_predict=1))
        driver.loop.step()
        times.append(clock.now)
        assert stream.events(0) is not None
    gaps = np.diff(times)
    usual = float(np.median(gaps[:19]))
    assert max(gaps) < max(5 * usual, usual + 16 * 0.0014)
    assert not driver.loop.waiting
    assert driver.metrics.prompt_tokens >= 2000


def test_prompts_are_read_first_come_first_served() -> None:
    driver = Driver(HashModel(), n_ctx=256, n_cells=1024, n_batch=16)
    for start in (0, 100):
        driver.submit(Request(prompt=tuple(range(start, start + 60)), sampling=GREEDY, n_predict=1))
    driver.loop.step()
    first, second = driver.loop.running
    assert (first.pending, second.pending) == (44, 60)


def test_the_same_prompt_at_the_same_time_is_read_once() -> None:
    model = HashModel()
    driver = Driver(model, n_slots=4, n_ctx=256, n_cells=1024, n_batch=64)
    for _ in range(4):
        driver.submit(Request(prompt=tuple(range(200)), sampling=GREEDY, n_predict=1))
    driver.run()
    assert model.evaluated < 200 + 4 * 20
