"""Adapters on the default model with compiled kernels: who asks for which, and when, changes nobody's answer."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from gguf import GGMLQuantizationType

from llama.modelfile import ModelFile
from tests.models.lora import random_pairs, write_adapter
from tests.running import RunningServer

pytestmark = pytest.mark.real_model

PROMPTS = ["The capital of Italy is", "Once upon a time", "A recipe for bread: " * 40]
SCALES = [(0.0, 0.0), (1.0, 0.0), (0.5, 0.0), (0.0, 1.0), (0.4, -0.4)]


@pytest.fixture(scope="module")
def server(default_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """The default model with two random adapters of all its layers' matrices."""
    folder = tmp_path_factory.mktemp("lora")
    paths = []
    with ModelFile.open(default_model) as file:
        names = [n for n, tensor in file.tensors.items() if len(tensor.shape) == 2 and n.startswith("blk.")]
        for seed, chosen in enumerate((names, names[::3])):
            pairs = random_pairs(file, chosen, 8, seed, size=0.1)
            kind = GGMLQuantizationType.F16
            path = folder / f"{seed}.gguf"
            paths.append(write_adapter(path, pairs, architecture=file.architecture, alpha=8.0, kind=kind))
    flags = ["-m", str(default_model), "-np", "8", "--kv-unified", "-c", "8192", "--lora", ",".join(map(str, paths))]
    with RunningServer(folder / "log", *flags) as running:
        yield running


def body(prompt: str, scales: tuple[float, ...], **more: Any) -> dict[str, Any]:
    lora = [{"id": id, "scale": scale} for id, scale in enumerate(scales)]
    return {"prompt": prompt, "n_predict": 16, "temperature": 0, "lora": lora, "return_tokens": True, **more}


def tokens(server: RunningServer, asked: dict[str, Any]) -> list[int]:
    return list(server.post("/completion", asked)["tokens"])


def test_requests_with_different_adapters_answer_together_as_alone(
    server: RunningServer, real_server: RunningServer
) -> None:
    asked = [(prompt, scales) for prompt in PROMPTS for scales in SCALES]
    alone = [tokens(server, body(*each, cache_prompt=False)) for each in asked]
    assert len({tuple(found) for found in alone}) > len(asked) // 2
    for prompt, found in zip(PROMPTS, alone[:: len(SCALES)], strict=True):
        without = {key: value for key, value in body(prompt, SCALES[0]).items() if key != "lora"}
        assert found == tokens(real_server, without)
    with ThreadPoolExecutor(16) as pool:
        for cache in (False, True, True):
            together = pool.map(lambda each, cache=cache: tokens(server, body(*each, cache_prompt=cache)), asked)
            assert list(together) == alone
