"""Adapters: a model with one equals the model merged with it, each sequence of a batch has its own scales, and files
that do not fit are refused by what is wrong with them."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType as T
from numpy.typing import NDArray

from llama.errors import ModelFileError
from llama.modelfile import FileTensor, ModelFile
from llama.models import Model
from tests.models.lora import batch, merged, opened, random_pairs, stored_pairs, unscaled, write_adapter
from tests.models.zoo import nmse, zoo_model, zoo_names

#: Matrices that are no plain products: convolutions, tables of positions, matrices of heads.
NOT_PLAIN = re.compile(r"altup|conv|position_embd|token_types|attn_[kv]_b|ssm_norm")
TOKENS = [5, 9, 2, 77, 31, 31, 8, 120, 64, 3, 17]
Part = tuple[Sequence[int], int, int, Sequence[float]]


def file_of(name: str, folder: Path) -> ModelFile:
    return ModelFile.open(zoo_model(name).write(folder))


def matrices(file: ModelFile) -> list[str]:
    """What adapters may change. Embeddings that also make the logits are left out: only one side would change."""
    tied = "output.weight" not in file.tensors
    names = [name for name, tensor in file.tensors.items() if len(tensor.shape) > 1 and name.endswith(".weight")]
    return [name for name in names if not NOT_PLAIN.search(name) and not (tied and name == "token_embd.weight")]


def run(model: Model, *parts: Part) -> NDArray[np.float32]:
    return model.forward(batch(model, *parts), hidden=model.is_encoder).copy()


def base(model: Model, *parts: Part) -> NDArray[np.float32]:
    return model.forward(unscaled(batch(model, *parts)), hidden=model.is_encoder).copy()


@pytest.mark.parametrize("name", [name for name in zoo_names() if not name.startswith("quant")])
def test_a_model_with_an_adapter_is_the_merged_model(name: str, tmp_path: Path) -> None:
    file = file_of(name, tmp_path)
    pairs = random_pairs(file, matrices(file), rank=3)
    path = write_adapter(tmp_path / "adapter.gguf", pairs, architecture=file.architecture, alpha=6.0)
    adapted, plain, whole = opened(file, path), opened(file), opened(merged(file, (pairs, 0.75 * 6 / 3)))
    part: Part = (TOKENS, 0, 0, [0.75])
    wanted, without = base(whole, part), base(plain, part)
    assert nmse(run(adapted, part), wanted) < 1e-9 < 0.01 < nmse(without, wanted)
    np.testing.assert_array_equal(run(adapted, (TOKENS, 0, 0, [0.0])), without)
    np.testing.assert_array_equal(base(adapted, part), without)


def test_adapters_of_several_types_ranks_and_targets_add_up(tmp_path: Path) -> None:
    file = file_of("llama-moe", tmp_path)
    names = matrices(file)
    parts, paths = [], []
    for seed, (kind, rank, chosen) in enumerate(
        [(T.F32, 2, names), (T.F16, 5, names[::2]), (T.BF16, 3, names[1::3]), (T.Q8_0, 32, names[::3])]
    ):
        pairs = random_pairs(file, chosen, rank, seed, size=0.3)
        paths.append(write_adapter(tmp_path / f"{seed}.gguf", pairs, alpha=seed or None, kind=kind))
        parts.append((stored_pairs(paths[-1]), 0.5 * (seed + 1) * (seed / rank if seed else 1)))
    adapted, whole = opened(file, *paths), opened(merged(file, *parts))
    part: Part = (TOKENS, 0, 0, [0.5, 1.0, 1.5, 2.0])
    assert nmse(run(adapted, part), base(whole, part)) < 1e-9


@pytest.mark.parametrize("name", ["llama-moe", "phi3", "qwen35", "bert", "quant-q4_1", "quant-qwen3moe"])
def test_compiled_adapters_agree_and_each_sequence_has_its_own(name: str, tmp_path: Path) -> None:
    file = file_of(name, tmp_path)
    names = matrices(file)
    one = write_adapter(tmp_path / "1.gguf", random_pairs(file, names, 3), architecture=file.architecture, alpha=4.0)
    two = random_pairs(file, names[::2], 20, seed=1)
    paths = [one, write_adapter(tmp_path / "2.gguf", two, architecture=file.architecture, kind=T.F16)]
    numpy_, compiled = opened(file, *paths), opened(file, *paths, kernels="compiled")
    plain = opened(file, kernels="compiled")
    parts: list[Part] = [
        (TOKENS, 0, 0, [0.5, 0.0]),
        (TOKENS[:7], 0, 1, [0.0, 1.0]),
        (TOKENS, 0, 2, [0.0, 0.0]),
        (TOKENS[:1], 0, 3, [0.25, -0.5]),
    ]
    together = run(compiled, *parts)
    assert nmse(together, run(numpy_, *parts)) < (2e-3 if name.startswith("quant") else 1e-9)
    np.testing.assert_array_equal(together, np.concatenate([run(compiled, part) for part in parts]))
    unadapted = together[len(TOKENS) + 7 : -1]
    np.testing.assert_array_equal(unadapted, base(plain, parts[2]))
    np.testing.assert_array_equal(unadapted, base(compiled, parts[2]))
    assert nmse(unadapted, together[: len(TOKENS)]) > 1e-3
    for model in (numpy_, compiled, plain):
        model.close()


def test_a_prompt_cut_anywhere_beside_others_gives_the_same_bits(tmp_path: Path) -> None:
    file = file_of("quant-q4_1", tmp_path)
    paths = [write_adapter(tmp_path / f"{i}.gguf", random_pairs(file, matrices(file), 4, i)) for i in range(2)]
    model = opened(file, *paths, kernels="compiled")
    tokens = [i * 37 % 250 + 3 for i in range(600)]  # more than one pass holds
    rows, scales = len(tokens), ([0.9, 0.1], [0.0, 0.7])
    whole = [run(model, (tokens, 0, i, scales[i])) for i in range(2)]
    for cut in (1, 17, rows // 2, rows - 1):
        run(model, (tokens[:cut], 0, 0, scales[0]), (tokens[: rows - cut], 0, 1, scales[1]))
        found = run(model, (tokens[cut:], cut, 0, scales[0]), (tokens[rows - cut :], rows - cut, 1, scales[1]))
        np.testing.assert_array_equal(found, np.concatenate([whole[0][cut:], whole[1][rows - cut :]]))
    model.close()


Q = "blk.0.attn_q.weight"
A, B = np.ones((2, 64), np.float32), np.ones((64, 2), np.float32)
REFUSED = {
    "a model": ({}, {"more": {"general.type": "model"}}, "general.type must be 'adapter', got 'model'"),
    "another kind": ({}, {"more": {"adapter.type": "ia3"}}, "adapter.type must be 'lora', got 'ia3'"),
    "another architecture": ({}, {"architecture": "qwen2"}, "the adapter is for qwen2 models, this one is llama"),
    "activated": ({}, {"more": {"adapter.alora.invocation_tokens": "1 2"}}, "adapter.alora.invocation_tokens"),
    "alpha": ({}, {"more": {"adapter.lora.alpha": "16"}}, "adapter.lora.alpha must be a number, got '16'"),
    "half a pair": ({}, {"tensors": {f"{Q}.lora_a": A}}, f"{Q}.lora_b is missing"),
    "the other half": ({}, {"tensors": {f"{Q}.lora_b": B}}, f"{Q}.lora_a is missing"),
    "an odd name": ({}, {"tensors": {f"{Q}.magnitude": A}}, f"{Q}.magnitude is neither .lora_a nor .lora_b"),
    "an unknown matrix": ({"blk.7.attn_q.weight": (A, B)}, {}, "the model has no tensor blk.7.attn_q.weight"),
    "inputs": ({Q: (A[:, :32], B)}, {}, r"lora_a \(2, 32\).*do not fit the model's " + Q),
    "outputs": ({Q: (A, B[:32])}, {}, r"lora_b \(32, 2\) do not fit"),
    "ranks": ({Q: (A, np.ones((64, 3), np.float32))}, {}, "do not fit"),
    "not transposed": ({Q: (np.ascontiguousarray(A.T), B)}, {}, "do not fit"),
    "embeddings": ({"token_embd.weight": (A, np.ones((288, 2), np.float32))}, {}, "do not fit the model's token_embd"),
    "a norm": (
        {"blk.0.attn_norm.weight": (A, np.ones((1, 2), np.float32))},
        {},
        "adapters of blk.0.attn_norm.weight do not work",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_an_adapter_that_does_not_fit_is_refused_by_what_is_wrong(what: str, tmp_path: Path) -> None:
    pairs, options, message = REFUSED[what]
    path = write_adapter(tmp_path / "bad.gguf", pairs, **options)  # type: ignore[arg-type]
    with pytest.raises(ModelFileError, match=rf"bad.gguf.*{message}"):
        opened(file_of("llama", tmp_path), path)


def test_a_matrix_with_a_scale_of_its_own_is_refused(tmp_path: Path) -> None:
    file = file_of("llama", tmp_path)
    values = np.ones(1, np.float32)
    scale = FileTensor("blk.0.attn_q.scale", T.F32, (1,), values.view(np.uint8))
    scaled = ModelFile(file.path, file.metadata, {**file.tensors, scale.name: scale})
    path = write_adapter(tmp_path / "bad.gguf", {Q: (A, B)})
    with pytest.raises(ModelFileError, match=f"{Q} has a scale of its own"):
        opened(scaled, path)


def test_changed_norms_are_left_out_and_texts_are_read(tmp_path: Path) -> None:
    file = file_of("llama", tmp_path)
    texts = {"adapter.lora.task_name": "tell", "adapter.lora.prompt_prefix": "Once "}
    norms = {"blk.0.attn_norm.weight": np.full(64, 9, np.float32)}
    path = write_adapter(tmp_path / "a.gguf", {Q: (0 * A, B)}, more=texts, tensors=norms)
    model = opened(file, path)
    assert [(a.path, a.task_name, a.prompt_prefix) for a in model.adapters] == [(str(path), "tell", "Once ")]
    part: Part = (TOKENS, 0, 0, [1.0])
    np.testing.assert_array_equal(run(model, part), base(opened(file), part))
