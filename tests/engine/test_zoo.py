"""Every architecture of the zoo under the engine: cut, cached and together, each answer is that of a lone run."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from llama.engine.engine import Engine
from llama.engine.request import Request
from tests.engine.drive import GREEDY, ask, fold
from tests.engine.test_real import load_file
from tests.models.zoo import zoo_model, zoo_names

SLOW = {"gemma3n"}  # in numpy
PLAIN = [name for name in zoo_names() if not name.startswith("quant-") and name not in SLOW]


@contextmanager
def serving(path: Path) -> Iterator[Engine]:
    engine = Engine(lambda: load_file(path, "numpy"), n_slots=3, n_ctx=64, n_cells=100, n_batch=7)
    try:
        assert engine.wait_until_ready(60), engine.error
        yield engine
    finally:
        engine.stop()


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.usefixtures("shared")
def test_together_is_as_alone(name: str, tmp_path: Path) -> None:
    rng = random.Random(name)
    with serving(zoo_model(name).write(tmp_path)) as engine:
        model = engine.loaded.model
        stem = [rng.randrange(model.n_vocab) for _ in range(20)]
        prompts = [
            tuple(stem[: rng.randint(1, 20)] + [rng.randrange(model.n_vocab) for _ in range(rng.randint(0, 9))])
            for _ in range(5)
        ]
        if model.is_encoder:
            together = engine.embed(prompts)
            for prompt, hidden in zip(prompts, together, strict=True):
                assert np.array_equal(engine.embed([prompt])[0], hidden)
            return
        requests = [Request(prompt=prompt, sampling=GREEDY, n_predict=16, cache_prompt=False) for prompt in prompts]
        alone = [ask(engine, request).ids for request in requests]
        handles = [engine.submit(replace(request, cache_prompt=True)) for request in requests * 2]
        assert [fold(list(handle))[0].ids for handle in handles] == alone * 2
