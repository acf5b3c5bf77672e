"""The engine over a real file: the cache's blocks, the executor's and the vocabulary's fit together."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from llama.engine import Loaded
from llama.engine.engine import Engine
from llama.engine.request import Request
from llama.modelfile import ModelFile
from llama.models import load_model
from llama.sampling import SamplingVocab
from llama.tokenizer import load_vocab
from tests.engine.drive import GREEDY, ask, fold

PROMPTS = ["Once upon a time", "Once upon a time, there was a", "Lily and Tom", "Once upon a"]


def load_file(path: Path, kernels: str) -> Loaded:
    with ModelFile.open(path) as file:
        vocab = load_vocab(file.metadata)
        model = load_model(file, kernels=kernels)
    pieces = [vocab.piece(id) for id in range(vocab.n_vocab)]
    sampling = SamplingVocab(model.n_vocab, vocab.eog, pieces, lambda text: vocab.encode(text, add_special=False))
    return Loaded(model, vocab, sampling)


@contextmanager
def telling(shared: Path, kernels: str) -> Iterator[Engine]:
    path = shared / "models" / "stories260K.gguf"
    engine = Engine(lambda: load_file(path, kernels), n_slots=3, n_ctx=256, n_cells=300, n_batch=7)
    try:
        assert engine.wait_until_ready(60), engine.error
        yield engine
    finally:
        engine.stop()


@pytest.mark.parametrize("kernels", ["numpy", "auto"])
def test_stories_are_the_same_alone_and_together(shared: Path, kernels: str) -> None:
    with telling(shared, kernels) as engine:
        vocab = engine.loaded.vocab
        requests = [
            Request(prompt=tuple(vocab.encode(text)), sampling=GREEDY, n_predict=60, cache_prompt=False)
            for text in PROMPTS
        ]
        alone = [ask(engine, request) for request in requests]
        assert alone[0].text.isascii()
        assert len(set(alone[0].text.split())) > 10
        handles = [engine.submit(Request(prompt=r.prompt, sampling=GREEDY, n_predict=60)) for r in requests * 2]
        together = [fold(list(handle))[0] for handle in handles]
        assert [answer.ids for answer in together] == [answer.ids for answer in alone] * 2


@pytest.mark.parametrize("kernels", ["numpy", "auto"])
def test_a_story_goes_on_from_a_file(shared: Path, tmp_path: Path, kernels: str) -> None:
    with telling(shared, kernels) as engine:
        prompt = tuple(engine.loaded.vocab.encode(PROMPTS[0]))
        whole = ask(engine, Request(prompt=prompt, sampling=GREEDY, n_predict=60))
        n_saved = engine.save_slot(whole.end.id_slot, tmp_path / "story.bin").n_tokens
    with telling(shared, kernels) as engine:
        engine.restore_slot(0, tmp_path / "story.bin")
        begun = (*prompt, *whole.ids[:50])
        rest = ask(engine, Request(prompt=begun, sampling=GREEDY, n_predict=10))
        assert (rest.end.timings.cache_n, n_saved) == (len(begun) - 1, len(prompt) + 59)
        assert rest.ids == whole.ids[50:]
