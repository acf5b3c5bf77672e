"""The worked example of docs/adding-an-architecture.md is right: its code gives llama.cpp's logits."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from llama.models import registry
from tests.models import zoo_engine
from tests.models.recorder import make_spec
from tests.models.zoo import ZooModel, further_model

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "adding-an-architecture.md").read_text()
NAME = "arcee-again"


def example(language: str) -> str:
    """The only code block of a language."""
    (block,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(block)


@pytest.fixture
def added() -> Iterator[None]:
    """The example's architecture, under a name that is still free."""
    registry.known_architectures()
    exec(compile(example("python").replace('"arcee"', f'"{NAME}"'), "example", "exec"), {})
    yield
    del registry._BUILDERS[NAME]


@pytest.mark.usefixtures("added")
def test_the_examples_code_gives_llama_cpps_logits(shared: Path, tmp_path: Path) -> None:
    model = further_model("arcee")
    kv = {key.replace("arcee.", f"{NAME}."): value for key, value in model.spec["kv"].items()}
    kv["general.architecture"] = ["str", NAME]
    renamed = ZooModel(NAME, {**model.spec, "kv": kv}, model.wanted, model.rows)
    assert renamed.error(zoo_engine.logits(renamed.write(tmp_path), renamed.tokens, "numpy")) < 1e-11


def test_the_examples_recipe_makes_the_recorded_model() -> None:
    spec = make_spec(json.loads(example("json")))
    assert {name for name, _, _ in spec["tensors"]} == {name for name, _, _ in further_model("arcee").spec["tensors"]}


def test_every_file_that_the_page_names_exists() -> None:
    root = Path(__file__).resolve().parents[2]
    paths = re.findall(r"`((?:llama|tests)/[\w/.]+\.\w+)`", PAGE)
    architectures = re.findall(r"`(\w+\.py)`", PAGE)
    assert len(paths) >= 6
    assert [p for p in paths if not (root / p).exists() and p != "llama/models/architectures/arcee.py"] == []
    folder = root / "llama" / "models" / "architectures"
    assert [name for name in architectures if not (folder / name).exists()] == []
