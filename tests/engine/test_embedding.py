"""Hidden states of whole inputs, beside running texts."""

import numpy as np
import pytest

from llama.engine.request import Request
from llama.errors import InvalidRequest, NotSupported
from tests.engine.drive import GREEDY, fold, lone, running
from tests.fakes import HashModel, noise

INPUTS = [[1, 2, 3], [4], list(range(90)), [5, 6] * 10]


@pytest.mark.parametrize("kind", [{}, {"is_encoder": True}, {"has_state": True}])
def test_each_token_has_its_hidden_state_whatever_runs(kind: dict[str, bool]) -> None:
    model = HashModel(**kind)
    with running(model, n_ctx=128, n_batch=32) as engine:
        handle = None if model.is_encoder else engine.submit(Request(prompt=(1, 2), sampling=GREEDY, n_predict=40))
        for tokens, hidden in zip(INPUTS, engine.embed(INPUTS), strict=True):
            assert hidden.shape == (len(tokens), model.n_embd)
            assert np.array_equal(hidden[-1], noise(tokens, model.n_embd))
            assert np.array_equal(hidden[0], noise(tokens[:1], model.n_embd))
        if handle is not None:
            assert fold(list(handle))[0].ids == lone((1, 2), 40)


def test_wrong_inputs_are_refused() -> None:
    with running(HashModel(is_encoder=True), n_ctx=16) as engine:
        with pytest.raises(InvalidRequest, match="too large to process"):
            engine.embed([[1] * 17])
        with pytest.raises(InvalidRequest, match="must not be empty"):
            engine.embed([[]])
        with pytest.raises(NotSupported):
            engine.submit(Request(prompt=(1,)))
        assert len(engine.embed([[1] * 16])[0]) == 16


def test_an_input_whose_step_fails_fails_alone() -> None:
    with running(HashModel(fail_when=lambda batch: 13 in batch.tokens)) as engine:
        with pytest.raises(RuntimeError, match="told to fail"):
            engine.embed([[13]])
        assert len(engine.embed([[1, 2]])[0]) == 2
