"""Random LoRA adapters for small models, and the same models with the adapters merged into their weights."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter
from gguf.quants import quantize
from numpy.typing import NDArray

from llama.kernels.batch import Batch
from llama.kernels.tensor import Tensor
from llama.modelfile import FileTensor, ModelFile
from llama.models import Model, load_model

F32 = GGMLQuantizationType.F32
Floats = NDArray[np.float32]
Pairs = dict[str, tuple[Floats, Floats]]
LOOKED_UP = "token_embd.weight"
ROOM = 24  # cache blocks of a sequence


def random_pairs(file: ModelFile, names: Sequence[str], rank: int, seed: int = 0, size: float = 0.5) -> Pairs:
    """Pairs for the matrices of these names; b @ a is about `size` times as large as the matrix."""
    rng = np.random.default_rng(seed)
    pairs = {}
    for name in names:
        shape = file.tensors[name].shape
        *lead, out, columns = shape if len(shape) > 1 else (1, *shape)
        deviation = floats(file.tensors[name]).std() * size / rank**0.5
        a = rng.standard_normal((*lead, rank, columns)).astype(np.float32)
        b = (rng.standard_normal((*lead, out, rank)) * deviation).astype(np.float32)
        pairs[name] = (np.ascontiguousarray(b), np.ascontiguousarray(a.T)) if name.endswith(LOOKED_UP) else (a, b)
    return pairs


def floats(tensor: FileTensor) -> Floats:
    """A tensor's values."""
    return Tensor(tensor.name, tensor.type, tensor.shape, tensor.data).floats()


def write_adapter(
    path: Path,
    pairs: Mapping[str, tuple[Floats, Floats]],
    *,
    architecture: str = "llama",
    alpha: float | None = None,
    kind: GGMLQuantizationType = F32,
    more: Mapping[str, str] | None = None,
    tensors: Mapping[str, Floats] | None = None,
) -> Path:
    """Write the pairs as llama.cpp's converter does; `more` are further texts of the metadata, `tensors` other ones."""
    writer = GGUFWriter(path, architecture)
    given = {"general.type": "adapter", "adapter.type": "lora", **(more or {})}
    for key, value in given.items():
        writer.add_string(key, value)
    if alpha is not None:
        writer.add_float32("adapter.lora.alpha", alpha)
    halves = {f"{name}.lora_{half}": pair[i] for name, pair in pairs.items() for i, half in enumerate("ab")}
    for name, values in (halves | dict(tensors or {})).items():
        if kind == F32:
            writer.add_tensor(name, values)
        else:
            writer.add_tensor(name, quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def stored_pairs(path: Path | str) -> Pairs:
    """The pairs in a file, as its types have them."""
    with ModelFile.open(path) as file:
        names = {name.rpartition(".")[0] for name in file.tensors}
        return {n: (floats(file.tensors[f"{n}.lora_a"]), floats(file.tensors[f"{n}.lora_b"])) for n in names}


def merged(file: ModelFile, *parts: tuple[Pairs, float]) -> ModelFile:
    """The model with scale * b @ a added to its matrices, as F32."""
    tensors = dict(file.tensors)
    for pairs, scale in parts:
        for name, (a, b) in pairs.items():
            values = floats(tensors[name])
            change = a @ b.T if name.endswith(LOOKED_UP) else b @ a
            values = values + (np.float64(scale) * change.astype(np.float64)).reshape(values.shape)
            values = np.ascontiguousarray(values, np.float32)
            tensors[name] = FileTensor(name, F32, values.shape, values.view(np.uint8))
    return ModelFile(file.path, file.metadata, tensors)


def opened(file: ModelFile, *adapters: Path, kernels: str = "numpy", n_blocks: int = 4 * ROOM, **options: str) -> Model:
    """The model with these adapters and room in its cache."""
    types = {"type_k": "f32", "type_v": "f32", **options}
    model = load_model(file, kernels=kernels, adapters=[ModelFile.open(path) for path in adapters], **types)  # type: ignore[arg-type]
    model.executor.allocate(n_blocks, 8)
    return model


def batch(model: Model, *parts: tuple[Sequence[int], int, int, Sequence[float]]) -> Batch:
    """(tokens, first position, number of the sequence, scales) of some sequences, every row wanted.

    Sequence i has the cache blocks from ROOM * i on, and the state i.
    """
    starts = np.cumsum([0, *(len(tokens) for tokens, *_ in parts)]).astype(np.int32)
    assert all(position + len(tokens) <= ROOM * model.block_size for tokens, position, *_ in parts)
    return Batch(
        tokens=np.array([token for tokens, *_ in parts for token in tokens], np.int32),
        starts=starts,
        positions=np.array([position for _, position, *_ in parts], np.int32),
        blocks=np.array([range(ROOM * which, ROOM * (which + 1)) for _, _, which, _ in parts], np.int32),
        states=np.array([which for _, _, which, _ in parts], np.int32),
        outputs=np.arange(starts[-1], dtype=np.int32),
        scales=np.array([scales for *_, scales in parts], np.float32),
    )


def unscaled(step: Batch) -> Batch:
    """The batch without scales."""
    return replace(step, scales=None)
