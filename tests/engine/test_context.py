"""The context's limits: refused prompts, full contexts, shifts."""

import pytest

from llama.engine.request import Request
from llama.engine.shift import shifted
from llama.errors import ContextOverflow, InvalidRequest
from tests.engine.drive import GREEDY, Driver, ask, lone, running
from tests.fakes import ByteVocab, HashModel


def test_a_prompt_that_does_not_fit_is_refused_at_once_with_the_counts() -> None:
    with running(HashModel(), n_ctx=64) as engine:
        for n in (64, 65, 500):
            with pytest.raises(ContextOverflow) as caught:
                engine.submit(Request(prompt=(1,) * n, sampling=GREEDY))
            assert (caught.value.n_prompt, caught.value.n_ctx) == (n, 64)
        assert ask(engine, Request(prompt=(1,) * 64, sampling=GREEDY, n_predict=0)).end.n_tokens == 0


def test_no_tokens_and_unknown_tokens_are_refused() -> None:
    with running(HashModel(), n_ctx=64) as engine:
        with pytest.raises(InvalidRequest, match="must not be empty"):
            engine.submit(Request(prompt=()))
        with pytest.raises(InvalidRequest, match="token 100000"):
            engine.submit(Request(prompt=(1, 100000)))


@pytest.mark.parametrize(("n_prompt", "n_ctx"), [(50, 64), (8, 256)])
def test_a_text_ends_where_the_context_ends(n_prompt: int, n_ctx: int) -> None:
    driver = Driver(HashModel(ends=False), n_ctx=n_ctx, n_cells=n_ctx)
    prompt = tuple(range(n_prompt))
    end = driver.answer(Request(prompt=prompt, sampling=GREEDY)).end
    assert (end.n_tokens, end.reason, end.truncated) == (n_ctx - n_prompt, "limit", True)
    end = driver.answer(Request(prompt=prompt, sampling=GREEDY, n_predict=n_ctx - n_prompt)).end
    assert (end.n_tokens, end.reason, end.truncated) == (n_ctx - n_prompt, "limit", False)


@pytest.mark.parametrize("has_state", [False, True])
def test_a_full_context_is_shifted_when_that_is_wanted(has_state: bool) -> None:
    driver = Driver(HashModel(ends=False, has_state=has_state), n_ctx=64, n_cells=64, context_shift=True)
    prompt = tuple(range(50))
    answer = driver.answer(Request(prompt=prompt, sampling=GREEDY, n_predict=100, n_keep=5))
    assert (answer.end.n_tokens, answer.end.truncated, answer.end.reason) == (100, True, "limit")
    tokens = list(prompt)
    model = driver.loop.loaded.model
    for token in answer.ids:
        assert token == int(model._logits(tokens).argmax())  # type: ignore[attr-defined]
        tokens.append(token)
        if len(tokens) == 64:
            tokens = tokens[:5] + tokens[5 + 29 :]
    again = driver.answer(Request(prompt=prompt, sampling=GREEDY, n_predict=10))
    assert again.ids == answer.ids[:10]


def test_without_a_limit_a_shifted_text_ends_at_the_trained_length() -> None:
    driver = Driver(HashModel(ends=False, n_ctx_train=150), n_ctx=32, n_cells=64, context_shift=True)
    end = driver.answer(Request(prompt=(1, 2, 3), sampling=GREEDY)).end
    assert (end.n_tokens, end.truncated) == (150, True)


@pytest.mark.parametrize(
    ("wishes", "add_bos", "kept"),
    [
        ({}, False, [*range(10, 20)]),
        ({}, True, [0, *range(10, 20)]),
        ({"n_keep": 4}, False, [0, 1, 2, 3, *range(12, 20)]),
        ({"n_keep": -1}, False, [*range(8), *range(14, 20)]),
        ({"n_discard": 3}, False, [*range(3, 20)]),
        ({"n_discard": 300}, False, [19]),
        ({"n_keep": 300}, False, [*range(16), 18, 19]),
    ],
)
def test_what_a_shift_keeps(wishes: dict[str, int], add_bos: bool, kept: list[int]) -> None:
    request = Request(prompt=tuple(range(8)), **wishes)  # type: ignore[arg-type]
    assert shifted(request, list(range(20)), 8, add_bos) == kept


def test_short_of_blocks_the_youngest_waits_and_loses_nothing() -> None:
    driver = Driver(HashModel(), n_slots=4, n_ctx=64, n_cells=64)
    handles = [driver.submit(Request(prompt=(9, i), sampling=GREEDY, n_predict=40)) for i in range(4)]
    driver.run()
    assert driver.metrics.n_preempted > 0
    for i, handle in enumerate(handles):
        ids = [event.id for event in handle if hasattr(event, "id")]
        assert ids == [t for t in lone((9, i), 40) if t not in ByteVocab().eog]
