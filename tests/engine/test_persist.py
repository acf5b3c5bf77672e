"""Slots on disk."""

from pathlib import Path

import pytest

from llama.engine.request import Request
from llama.errors import InvalidRequest
from tests.engine.drive import GREEDY, ask, fold, lone, running
from tests.fakes import HashModel

FRANCE = tuple(b"The capital of France")
GERMANY = tuple(b"The capital of Germany?")


@pytest.mark.parametrize("has_state", [False, True])
def test_a_slot_survives_the_server(tmp_path: Path, has_state: bool) -> None:
    request = Request(prompt=FRANCE, sampling=GREEDY, n_predict=10)
    with running(HashModel(has_state=has_state), n_ctx=256) as engine:
        ask(engine, request)
        saved = engine.save_slot(0 if ask(engine, request).end.id_slot == 0 else 1, tmp_path / "a.bin")
        assert saved.n_tokens == len(FRANCE) + 9
        assert saved.n_bytes == (tmp_path / "a.bin").stat().st_size
    with running(HashModel(has_state=has_state), n_ctx=256) as engine:
        assert engine.restore_slot(1, tmp_path / "a.bin").n_tokens == saved.n_tokens
        longer = (*FRANCE, *lone(FRANCE, 10), 1, 2)
        answer = ask(engine, Request(prompt=longer, sampling=GREEDY, n_predict=5))
        assert answer.end.timings.cache_n == len(FRANCE) + 9
        assert answer.ids == lone(longer, 5)


def test_who_names_a_slot_reuses_what_that_slot_holds(tmp_path: Path) -> None:
    def cached(prompt: tuple[int, ...], slot: int) -> int:
        return ask(engine, Request(prompt=prompt, sampling=GREEDY, n_predict=8, id_slot=slot)).end.timings.cache_n

    common = len(b"The capital of ")
    with running(HashModel(), n_slots=2, n_ctx=256) as engine:
        assert cached(FRANCE, 1) == 0
        engine.save_slot(1, tmp_path / "a.bin")
        assert cached(GERMANY, 1) == common
        engine.restore_slot(0, tmp_path / "a.bin")
        assert cached(GERMANY, 0) == common
        assert cached(GERMANY, 1) == len(GERMANY) - 1


def test_of_several_choices_only_the_first_is_bound_to_the_slot() -> None:
    with running(HashModel(delay=0.001), n_slots=3, n_ctx=256) as engine:
        handle = engine.submit(Request(prompt=FRANCE, sampling=GREEDY, n=3, n_predict=20, id_slot=2))
        answers = fold(list(handle))
        assert answers[0].end.id_slot == 2
        assert {answer.end.id_slot for answer in answers} == {0, 1, 2}


def test_an_erased_slot_reads_everything_again() -> None:
    with running(HashModel(), n_ctx=256) as engine:
        request = Request(prompt=FRANCE, sampling=GREEDY, n_predict=8)
        slot = ask(engine, request).end.id_slot
        assert engine.erase_slot(slot) == len(FRANCE) + 7
        assert ask(engine, request).end.timings.cache_n == 0


def test_damaged_and_foreign_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    with running(HashModel(), n_ctx=256) as engine:
        ask(engine, Request(prompt=FRANCE, sampling=GREEDY, n_predict=2))
        engine.save_slot(0, path)
        good = path.read_bytes()
        for bad in (b"", good[:100], good[:-1], good[:50] + b"?" + good[51:], b"x" * 1000):
            path.write_bytes(bad)
            with pytest.raises(InvalidRequest, match="undamaged slot file"):
                engine.restore_slot(0, path)
        with pytest.raises(InvalidRequest, match="cannot read"):
            engine.restore_slot(0, tmp_path / "nothing.bin")
        path.write_bytes(good)
    with (
        running(HashModel(block_size=8), n_ctx=256) as engine,
        pytest.raises(InvalidRequest, match="another model"),
    ):
        engine.restore_slot(0, path)
