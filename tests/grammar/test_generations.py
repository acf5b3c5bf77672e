"""End to end: whatever a model writes under a schema, hot and unfiltered, is valid unless it was cut by its length.

`tests/bench/constrained.py` does the same with many more texts and larger vocabularies.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.acceptance.hosting import Hosted
from tests.grammar.generations import SCHEMAS, Generation, generate_all, poster, problem, random_weights
from tests.running import RunningServer

NAMES = list(SCHEMAS)


def check(generations: Sequence[Generation]) -> None:
    """None is invalid, and few were cut: the schemas leave little room to go on and on."""
    wrong = [(g.name, g.seed, g.text, g.problem) for g in generations if g.problem]
    assert wrong == []
    assert sum(g.kind == "valid" for g in generations) >= 0.8 * len(generations)


@pytest.mark.real_model
def test_the_default_model_over_http(real_server: RunningServer) -> None:
    check(generate_all(poster(real_server.port), NAMES[::2], range(20), max_tokens=250))


@pytest.mark.parametrize(("vocab", "names"), [("gpt-2", NAMES[1::4]), ("llama-spm", NAMES[3::4])])
def test_random_weights(shared: Path, tmp_path: Path, vocab: str, names: list[str]) -> None:
    model = tmp_path / "random.gguf"
    random_weights(shared / "vocab" / f"ggml-vocab-{vocab}.gguf", model)
    server = Hosted("-m", str(model), "-np", "4", "--kv-unified", "-c", "4096")
    try:
        check(generate_all(poster(server.port), names, range(len(names)), max_tokens=150))
    finally:
        server.close()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("person", '{"name": "x"}'),
        ("person", '{"name": "x", "age": 5'),
        ("event", '{"day": "2023-02-29", "at": "2023-02-28T00:00:00Z"}'),
        ("event", '{"day": "2023-02-28", "at": "2023-02-28T00:00:00"}'),
        ("tuple-old", '["x", 1]'),
        ("any-object", "[]"),
    ],
)
def test_the_judge_sees_what_is_wrong(name: str, text: str) -> None:
    assert problem(SCHEMAS[name], text)
