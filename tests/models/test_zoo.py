"""Every architecture gives llama.cpp's results, on every executor."""

from pathlib import Path

import pytest

from llama.models.pooling import PoolingHead, pool
from tests.models import zoo_engine
from tests.models.zoo import ZooModel, further_model, further_names, nmse, zoo_model, zoo_names

KERNELS = ["numpy", "compiled"]
#: Largest error allowed: F32 weights, gemma3n, quantised weights. Compiled kernels round activations to 8 bits
#: for quantised weights, so these have the widest limit.
RIGHT, RIGHT_GEMMA3N, RIGHT_QUANTISED = 1e-5, 1e-4, 5e-3


def limit(model: ZooModel) -> float:
    if model.is_quantised:
        return RIGHT_QUANTISED
    return RIGHT_GEMMA3N if model.spec["arch"] == "gemma3n" else RIGHT


def check(model: ZooModel, folder: Path, kernels: str) -> None:
    path = model.write(folder)
    run = zoo_engine.embeddings if model.is_encoder else zoo_engine.logits
    assert model.error(run(path, model.tokens, kernels)) < limit(model)


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("name", zoo_names())
def test_the_zoo_gives_llama_cpps_results(name: str, kernels: str, tmp_path: Path) -> None:
    check(zoo_model(name), tmp_path, kernels)


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("name", further_names())
def test_further_models_give_llama_cpps_results(name: str, kernels: str, tmp_path: Path, shared: Path) -> None:
    check(further_model(name), tmp_path, kernels)


@pytest.mark.parametrize("name", ["bert", "nomic-bert"])
def test_the_models_own_pooling_gives_llama_cpps_vector(name: str, tmp_path: Path, shared: Path) -> None:
    model = zoo_model(name)
    hidden = zoo_engine.embeddings(model.write(tmp_path), model.tokens, "numpy")
    kind = {1: "mean", 2: "cls"}[model.spec["kv"][f"{name}.pooling_type"][1]]
    assert nmse(pool(hidden, kind, PoolingHead()), model.wanted["pooled"]) < RIGHT
