"""Model files that do not fit together are refused by the name of what is wrong."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from llama.errors import ModelFileError, UnknownArchitecture
from llama.modelfile import ModelFile
from llama.models import Model, known_architectures, load_model, registry
from tests.models.zoo import ZooModel, zoo_model, zoo_names

Change = Callable[[dict[str, Any]], None]


@pytest.fixture
def spec(shared: Path) -> dict[str, Any]:
    """A fresh copy of the spec of a small llama model."""
    return zoo_model("llama").spec


def load(spec: dict[str, Any], folder: Path, **options: Any) -> Model:
    path = ZooModel("changed", spec, {}).write(folder)
    with ModelFile.open(path) as file:
        return load_model(file, kernels="numpy", **options)


def without(name: str) -> Change:
    def change(spec: dict[str, Any]) -> None:
        spec["tensors"] = [t for t in spec["tensors"] if t[0] != name]

    return change


def shaped(name: str, *shape: int) -> Change:
    def change(spec: dict[str, Any]) -> None:
        spec["tensors"] = [[n, list(shape) if n == name else s, k] for n, s, k in spec["tensors"]]

    return change


def keyed(key: str, kind: str, value: object) -> Change:
    def change(spec: dict[str, Any]) -> None:
        spec["kv"][key] = [kind, value]

    return change


def keyless(key: str) -> Change:
    def change(spec: dict[str, Any]) -> None:
        del spec["kv"][key]

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without("blk.1.ffn_up.weight"), r"no tensor blk\.1\.ffn_up\.weight of shape \(128, 64\)|ffn_up"),
        (without("token_embd.weight"), "token_embd.weight"),
        (shaped("blk.0.attn_k.weight", 64, 48), r"blk\.0\.attn_k\.weight: expected shape \(32, 64\), got \(48, 64\)"),
        (shaped("blk.0.attn_norm.weight", 63), r"blk\.0\.attn_norm\.weight: expected 64 elements, got \(63,\)"),
        (shaped("token_embd.weight", 64, 287), "287 rows, the vocabulary has 288 tokens"),
        (shaped("blk.0.ffn_down.weight", 127, 64), r"blk\.0\.ffn_down\.weight: expected shape \(64, 128\)"),
        (keyed("llama.block_count", "u32", 3), r"blk\.2\."),
        (keyed("llama.block_count", "u32", 100000), "100000 layers"),
        (keyed("llama.block_count", "str", "two"), "llama.block_count must be a whole number"),
        (keyed("llama.embedding_length", "u32", 0), "0 columns"),
        (keyed("llama.attention.head_count", "u32", 3), "3 query heads cannot share 2 key heads"),
        (keyed("llama.attention.layer_norm_rms_epsilon", "str", "x"), "layer_norm_rms_epsilon must be a finite number"),
        (keyed("llama.rope.scaling.type", "str", "spiral"), "none, linear, yarn or longrope, got 'spiral'"),
        (keyed("llama.rope.dimension_count", "u32", 18), "cannot rotate 18 columns of a head of 16"),
        (keyed("llama.pooling_type", "u32", 9), "llama.pooling_type must be 0 to 4, got 9"),
        (keyed("llama.feed_forward_length", "arr:u32", [128]), "1 entries, the model has 2 layers"),
        (keyless("llama.embedding_length"), "the model file has no llama.embedding_length"),
        (keyless("llama.context_length"), "the model file has no llama.context_length"),
    ],
)
def test_what_is_wrong_is_named(spec: dict[str, Any], change: Change, message: str, tmp_path: Path) -> None:
    change(spec)
    with pytest.raises(ModelFileError, match=message):
        load(spec, tmp_path)


def test_an_unknown_architecture_is_refused_with_the_known_ones(spec: dict[str, Any], tmp_path: Path) -> None:
    spec["kv"] = {"general.architecture": ["str", "abacus"]}
    spec["tensors"] = []
    with pytest.raises(UnknownArchitecture, match=r"'abacus'; known are .*llama.*qwen3"):
        load(spec, tmp_path)


def test_more_than_eighty_architectures_are_known() -> None:
    names = known_architectures()
    assert names == sorted(names)
    assert len(names) > 80
    assert {"llama", "qwen3", "gemma3", "mamba2", "bert"} <= set(names)


def test_a_model_says_what_it_is(spec: dict[str, Any], tmp_path: Path) -> None:
    model = load(spec, tmp_path)
    assert (model.n_vocab, model.n_embd, model.n_ctx_train, model.block_size) == (288, 64, 512, 32)
    assert not model.has_state
    assert not model.is_encoder
    assert model.executor.name == "numpy"


def test_recurrent_models_and_encoders_say_so(shared: Path, tmp_path: Path) -> None:
    assert load(zoo_model("mamba2").spec, tmp_path).has_state
    encoder = load(zoo_model("bert").spec, tmp_path)
    assert encoder.is_encoder
    assert encoder.hparams.pooling == "cls"
    assert not encoder.hparams.causal


def test_metadata_can_be_overridden(spec: dict[str, Any], tmp_path: Path) -> None:
    assert load(spec, tmp_path, overrides={"llama.context_length": 99}).n_ctx_train == 99
    with pytest.raises(ModelFileError, match="layers"):
        load(spec, tmp_path, overrides={"llama.block_count": 0})


def test_experts_in_files_of_their_own_are_stacked(shared: Path, tmp_path: Path) -> None:
    """Old files have one tensor an expert."""
    model = zoo_model("llama-moe")
    spec = model.spec
    split = []
    for name, shape, kind in spec["tensors"]:
        if name.endswith("_exps.weight"):
            stem = name.removesuffix("_exps.weight")
            split += [[f"{stem}.{i}.weight", shape[:2], kind] for i in range(shape[2])]
        else:
            split.append([name, shape, kind])
    spec["tensors"] = split
    assert load(spec, tmp_path).n_vocab == 288


def test_architecture_files_state_the_difference_only() -> None:
    folder = Path(registry.__file__).parent / "architectures"
    lines = sorted(len(path.read_text().splitlines()) for path in folder.glob("*.py"))
    assert lines[len(lines) // 2] < 50
    assert lines[-1] < 150


@pytest.mark.parametrize("name", zoo_names())
def test_strange_numbers_are_refused_or_run(name: str, tmp_path: Path) -> None:
    """Each number of the metadata in turn becomes one that no model has."""
    spec = zoo_model(name).spec
    with ModelFile.open(ZooModel(name, spec, {}).write(tmp_path)) as file:
        keys = [key for key, (kind, _) in spec["kv"].items() if kind in ("u32", "f32")]
        for key in keys:
            for value in (0, 1, 3, 1 << 24, -1, 0.5):
                with contextlib.suppress(ModelFileError):
                    load_model(file, kernels="numpy", overrides={key: value})
