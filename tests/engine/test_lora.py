"""Requests with different adapters: they run in the same steps, and share what they have read with their like only."""

from pathlib import Path

import numpy as np
import pytest

from llama.engine.request import Request
from tests.engine.drive import GREEDY, Driver, ask, events_of, fold, lone, running
from tests.fakes import HashModel, lora_seed, noise

PROMPT = tuple(b"Look in thy glass")
HALF, FULL = (0.5, 0.0), (1.0, 0.0)


def request(lora: tuple[float, ...], **options: object) -> Request:
    return Request(prompt=PROMPT, sampling=GREEDY, n_predict=6, lora=lora, **options)  # type: ignore[arg-type]


def test_different_adapters_run_in_the_same_steps() -> None:
    settings = [(), HALF, FULL, (3.0, 0.0), (0.0, -2.0)]
    together, plain = (Driver(HashModel(), n_slots=5, n_ctx=64, n_cells=512, n_batch=128) for _ in range(2))
    handles = [together.submit(request(lora)) for lora in settings]
    for first in range(5):
        plain.submit(Request(prompt=(first, *PROMPT[1:]), sampling=GREEDY, n_predict=6))
    together.run()
    plain.run()
    answers = [fold(events_of(handle))[0] for handle in handles]
    assert [answer.ids for answer in answers] == [lone(PROMPT, 6, lora=lora) for lora in settings]
    assert len({tuple(answer.ids) for answer in answers}) == 5
    assert together.metrics.n_decode == plain.metrics.n_decode


@pytest.mark.parametrize("has_state", [False, True])
def test_what_was_read_with_other_adapters_is_not_shared(has_state: bool) -> None:
    driver = Driver(HashModel(has_state=has_state), n_slots=2, n_ctx=64, n_cells=512)
    for lora in ((), HALF, FULL):
        assert driver.answer(request(lora)).end.timings.cache_n == 0
    for lora in ((), HALF, FULL, (0.0, 0.0)):
        answer = driver.answer(request(lora))
        assert answer.end.timings.cache_n == len(PROMPT) - 1
        assert answer.ids == lone(PROMPT, 6, lora=lora)


def test_who_names_a_slot_that_held_another_adapter_starts_anew() -> None:
    driver = Driver(HashModel(), n_slots=2, n_ctx=64, n_cells=512)
    assert driver.answer(request(HALF, id_slot=1)).end.timings.cache_n == 0
    assert driver.answer(request(FULL, id_slot=0)).end.timings.cache_n == 0
    assert driver.answer(request(FULL, id_slot=1)).end.timings.cache_n == 0
    assert driver.answer(request(FULL, id_slot=1)).end.timings.cache_n == len(PROMPT) - 1


@pytest.mark.parametrize("has_state", [False, True])
def test_a_saved_slot_remembers_its_adapters(has_state: bool, tmp_path: Path) -> None:
    longer = (*PROMPT, *lone(PROMPT, 6, lora=HALF), 1, 2)
    with running(HashModel(has_state=has_state), n_ctx=64) as engine:
        slot = ask(engine, request(HALF)).end.id_slot
        assert engine.save_slot(slot, tmp_path / "a.bin").n_tokens == len(PROMPT) + 5
        assert engine.erase_slot(slot) == len(PROMPT) + 5
        engine.restore_slot(0, tmp_path / "a.bin")
        for lora, cached in (((), 0), (FULL, 0), (HALF, len(PROMPT) + 5)):
            answer = ask(engine, Request(prompt=longer, sampling=GREEDY, n_predict=3, lora=lora))
            assert answer.end.timings.cache_n == cached
            assert answer.ids == lone(longer, 3, lora=lora)


def test_inputs_are_embedded_with_adapters() -> None:
    model = HashModel()
    with running(model, n_ctx=64) as engine:
        for lora in ((), HALF):
            history = [lora_seed(lora), 1, 2, 3] if lora else [1, 2, 3]
            assert np.array_equal(engine.embed([[1, 2, 3]], lora)[0][-1], noise(history, model.n_embd))
