"""The engine's thread: loading, queue, cancelling, failures, stopping, forks, slots."""

import os
import threading
import time
from collections.abc import Callable

import pytest

from llama.engine import Engine
from llama.engine.request import Failed, Finished, Request, Token
from llama.errors import Cancelled, ModelFileError, NotFound, Unavailable
from tests.engine.drive import GREEDY, ask, fold, lone, running
from tests.fakes import HashModel, ScriptedModel, loaded

PROMPT = (1, 2, 3)


def wait_for(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.001)


def request(**wishes: object) -> Request:
    return Request(**({"prompt": PROMPT, "sampling": GREEDY} | wishes))  # type: ignore[arg-type]


def endless_script(**options: object) -> ScriptedModel:
    return ScriptedModel("x" * 3000, **options)


def test_requests_are_refused_while_loading_and_served_after() -> None:
    go = threading.Event()

    def load() -> object:
        go.wait(5)
        return loaded(ScriptedModel("Hi"))

    engine = Engine(load)  # type: ignore[arg-type]
    engine.start()
    assert engine.state == "loading"
    with pytest.raises(Unavailable, match="Loading model") as caught:
        engine.submit(request())
    assert caught.value.retry_after
    assert engine.slots() == []
    go.set()
    assert engine.wait_until_ready(5)
    assert ask(engine, request()).text == "Hi"
    engine.stop()


def test_a_load_that_fails_is_told() -> None:
    def load() -> object:
        raise ModelFileError("no tensors in it")

    engine = Engine(load)  # type: ignore[arg-type]
    assert not engine.wait_until_ready(5)
    assert engine.state == "failed"
    with pytest.raises(Unavailable, match="no tensors in it"):
        engine.submit(request())
    engine.stop()


def test_a_cancelled_request_frees_its_slot_within_two_steps_and_hurts_nobody() -> None:
    with running(HashModel(delay=0.002), n_slots=2, n_ctx=512) as engine:
        keep = engine.submit(request(n_predict=40))
        drop = engine.submit(request(prompt=(4, 5), n_predict=400))
        waiting = engine.submit(request(prompt=(6, 7), n_predict=400))
        assert drop.events(5) is not None
        waiting.cancel()
        wait_for(lambda: len(engine.running()) == 2)
        steps = engine.metrics.n_decode
        drop.cancel()
        wait_for(lambda: len(engine.running()) == 1)
        assert engine.metrics.n_decode <= steps + 3
        drop.cancel()
        assert fold(list(keep))[0].ids == lone(PROMPT, 40)


def test_a_prompt_that_is_being_read_stops_at_the_next_chunk() -> None:
    model = HashModel(token_delay=0.001)
    with running(model, n_ctx=4096, n_batch=32) as engine:
        handle = engine.submit(request(prompt=tuple(i % 9 for i in range(4000))))
        wait_for(lambda: model.steps > 1)
        handle.cancel()
        wait_for(lambda: not engine.running())
        assert model.evaluated < 400


def test_an_idle_engine_starts_requests_together_that_are_made_ready_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llama.engine.worker.GATHER", 5.0)
    model = HashModel()
    with running(model, n_slots=2) as engine, engine.expecting():
        handles = [engine.submit(request(prompt=(n, 2, 3), n_predict=1)) for n in (1, 4)]
        assert [fold(list(handle))[0].ids for handle in handles] == [lone((n, 2, 3), 1) for n in (1, 4)]
    assert model.steps == 1


def test_an_expected_request_that_does_not_come_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llama.engine.worker.GATHER", 0.001)
    with running(HashModel(), n_slots=2) as engine, engine.expecting():
        assert ask(engine, request(n_predict=1)).ids == lone(PROMPT, 1)


def test_requests_can_be_listed_and_cancelled_by_id() -> None:
    with running(endless_script(delay=0.002), n_slots=1, n_ctx=4096) as engine:
        handles = [engine.submit(request(id="abc", n_predict=-1)), engine.submit(request(id="other", n_predict=2))]
        assert isinstance(handles[0].events(5), Token)
        assert [(r.id, r.state) for r in engine.running()] == [("abc", "running"), ("other", "queued")]
        assert engine.cancel("abc") == 1
        assert engine.cancel("nobody") == 0
        *_, last = handles[0]
        assert isinstance(last, Failed)
        assert isinstance(last.error, Cancelled)
        assert fold(list(handles[1]))[0].end.n_tokens == 2


def test_a_full_queue_refuses_and_says_when_to_come_back() -> None:
    with running(endless_script(delay=0.005), n_slots=1, n_queue=2, n_ctx=4096) as engine:
        handles = [engine.submit(request()) for _ in range(3)]
        with pytest.raises(Unavailable, match="queue is full") as caught:
            engine.submit(request())
        assert caught.value.retry_after
        for handle in handles:
            handle.cancel()
        wait_for(lambda: not engine.running())
        assert ask(engine, request(n_predict=1)).end.n_tokens == 1


def test_a_step_that_fails_ends_its_requests_and_the_engine_lives(caplog: pytest.LogCaptureFixture) -> None:
    model = HashModel(fail_when=lambda batch: 13 in batch.tokens)
    with running(model, n_slots=2) as engine:
        with pytest.raises(RuntimeError, match="told to fail"):
            ask(engine, request(prompt=(1, 13)))
        assert "told to fail" in caplog.text
        assert ask(engine, request(n_predict=5)).ids == lone(PROMPT, 5)
        wait_for(lambda: not engine.running())


def test_a_stumble_of_the_engine_itself_ends_the_requests_and_it_begins_anew(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with running(HashModel(delay=0.001)) as engine:
        handle = engine.submit(request(n_predict=500))
        assert handle.events(5) is not None
        loop = engine._worker.loop
        monkeypatch.setattr(loop, "_admit", lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            fold([event for event in handle if isinstance(event, Failed)])
        wait_for(lambda: engine._worker.loop is not loop)
        assert ask(engine, request(n_predict=5)).ids == lone(PROMPT, 5)
        assert "stumbled" in caplog.text


def test_stopping_lets_running_texts_end_within_the_grace() -> None:
    with running(ScriptedModel("x" * 30, delay=0.002), n_slots=1) as engine:
        handle, queued = engine.submit(request()), engine.submit(request(prompt=(7, 8)))
        assert handle.events(5) is not None
        stopper = threading.Thread(target=engine.stop, args=(5,))
        stopper.start()
        with pytest.raises(Unavailable, match="stopping"):
            fold(list(queued))
        assert next(event for event in handle if isinstance(event, Finished)).reason == "eos"
        stopper.join(5)
        assert not stopper.is_alive()
        with pytest.raises(Unavailable, match="stopping"):
            engine.submit(request())


def test_when_the_grace_is_over_texts_end_with_an_error() -> None:
    model = endless_script(delay=0.002)
    with running(model, n_ctx=4096) as engine:
        handle = engine.submit(request())
        assert handle.events(5) is not None
        engine.stop(0.05)
        *_, last = handle
        assert isinstance(last, Failed)
        assert isinstance(last.error, Unavailable)
        assert model.executor.closed


def test_an_idle_engine_sleeps_and_a_stuck_one_shows_it() -> None:
    stuck = threading.Event()
    model = HashModel(fail_when=lambda batch: 13 in batch.tokens and not stuck.wait(5))
    with running(model) as engine:
        time.sleep(0.02)
        assert engine.pulse_age() == 0
        handle = engine.submit(request(prompt=(13,), n_predict=1))
        wait_for(lambda: engine.pulse_age() > 0.05)
        stuck.set()
        fold(list(handle))
        wait_for(lambda: engine.pulse_age() == 0)


def test_two_conversations_do_not_throw_each_other_out() -> None:
    with running(HashModel(), n_slots=2, n_ctx=1024, n_cells=2048) as engine:
        talks = {start: tuple((start + i) % 251 for i in range(500)) for start in (0, 100)}
        for prompt in talks.values():
            ask(engine, request(prompt=prompt, n_predict=1))
        for prompt in talks.values():
            longer = (*prompt, *range(50))
            assert ask(engine, request(prompt=longer, n_predict=1)).end.timings.cache_n == 500


def test_slots_show_what_they_do() -> None:
    with running(endless_script(delay=0.002), n_slots=2, n_ctx=4096) as engine:
        assert [(slot.id, slot.is_processing, slot.n_remain) for slot in engine.slots()] == [
            (0, False, -1),
            (1, False, -1),
        ]
        handle = engine.submit(request(id_slot=1, n_predict=900))
        wait_for(lambda: engine.slots()[1].n_decoded > 2)
        slot = engine.slots()[1]
        assert (slot.is_processing, slot.n_prompt_tokens, slot.n_ctx) == (True, 3, 4096)
        assert slot.n_remain + slot.n_decoded == 900
        handle.cancel()
        wait_for(lambda: not engine.slots()[1].is_processing)
        assert (engine.slots()[1].n_remain, engine.slots()[1].n_decoded) == (-1, 0)


def test_metrics_count_tokens_and_leave_the_first_one_out_of_the_rates() -> None:
    with running(HashModel()) as engine:
        answers = [ask(engine, request(n_predict=n)) for n in (1, 16)]
        metrics = engine.metrics
        wait_for(lambda: metrics.n_closed == 2)
        assert metrics.tokens_predicted == sum(a.end.timings.predicted_n for a in answers)
        assert metrics.prompt_tokens == sum(a.end.timings.prompt_n for a in answers)
        assert metrics.prompt_tokens_cached == sum(a.end.timings.cache_n for a in answers)
        assert metrics.tokens_predicted_timed == 15
        assert sum(metrics.request_seconds.counts) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # that forking with threads is risky: just so
def test_a_forked_child_begins_anew() -> None:
    with running(ScriptedModel("Hi")) as engine:
        assert ask(engine, request()).text == "Hi"
        child = os.fork()
        if not child:
            good = False
            try:
                good = engine.wait_until_ready(5) and ask(engine, request()).text == "Hi"
            finally:
                os._exit(0 if good else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert ask(engine, request()).text == "Hi"


def test_unknown_slots_are_refused() -> None:
    with running(HashModel(), n_slots=2) as engine, pytest.raises(NotFound, match="no slot 5"):
        engine.erase_slot(5)


def test_more_choices_than_slots_come_one_after_the_other() -> None:
    with running(HashModel(), n_slots=2) as engine:
        answers = fold(list(engine.submit(request(n=5, n_predict=6))))
        assert [answer.ids for answer in answers] == [lone(PROMPT, 6)] * 5


def test_an_engine_that_cannot_begin_anew_ends_its_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(n_blocks: int, n_states: int) -> None:
        raise MemoryError

    model = HashModel(delay=0.001)
    with running(model) as engine:
        handle = engine.submit(request(n_predict=500))
        assert handle.events(5) is not None
        monkeypatch.setattr(model.executor, "allocate", no_memory)
        monkeypatch.setattr(engine._worker.loop, "_admit", lambda: 1 / 0)
        *_, last = handle
        assert isinstance(last, Failed)
        wait_for(lambda: engine.state == "failed")
        with pytest.raises(Unavailable, match="could not be loaded"):
            engine.submit(request())
