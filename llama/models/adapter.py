"""LoRA adapters: files of narrow matrix pairs that change a model's matrices, read and checked against the model.

A pair changes a matrix w (out, in) into w + scale * b @ a, with a (rank, in) and b (out, rank); experts' matrices have
one pair each, stacked. For embeddings, whose rows are looked up, a lies the other way: (tokens, rank).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from llama.errors import ModelFileError
from llama.kernels.tensor import Tensor
from llama.modelfile import FileTensor, ModelFile

ACTIVATED = "adapter.alora.invocation_tokens"
LOOKED_UP = "token_embd.weight"  # how the names of matrices end whose rows are looked up


@dataclass(frozen=True, slots=True)
class Pair:
    """The two matrices that change one of the model's, and the factor that goes with their rank."""

    a: Tensor
    b: Tensor
    factor: float

    @property
    def rank(self) -> int:
        """Columns between the two."""
        return self.b.shape[-1]


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter by the name of its file, and its pairs by the names of the model's matrices."""

    path: str
    pairs: Mapping[str, Pair]
    task_name: str = ""
    prompt_prefix: str = ""


def read_adapter(file: ModelFile, architecture: str, tensors: Mapping[str, Tensor]) -> Adapter:
    """The adapter in `file` for a model of this architecture with these tensors. Raises ModelFileError."""
    _check_kind(file, architecture)
    alpha = file.metadata.get("adapter.lora.alpha", 0.0)
    if not isinstance(alpha, int | float):
        raise ModelFileError(f"{file.path.name}: adapter.lora.alpha must be a number, got {alpha!r:.80}")
    pairs = {}
    for name, (a, b) in _both(file).items():
        _check_shapes(file, name, tensors, a, b)
        pairs[name] = Pair(a, b, alpha / b.shape[-1] if alpha else 1.0)
    texts = (str(file.metadata.get(f"adapter.lora.{key}", "")) for key in ("task_name", "prompt_prefix"))
    return Adapter(str(file.path), pairs, *texts)


def _check_kind(file: ModelFile, architecture: str) -> None:
    name, metadata = file.path.name, file.metadata
    for key, wanted in (("general.type", "adapter"), ("adapter.type", "lora")):
        if metadata.get(key) != wanted:
            raise ModelFileError(f"{name}: no LoRA adapter: {key} must be {wanted!r}, got {metadata.get(key)!r:.80}")
    if file.architecture != architecture:
        raise ModelFileError(f"{name}: the adapter is for {file.architecture} models, this one is {architecture}")
    if ACTIVATED in metadata:
        raise ModelFileError(f"{name}: activated adapters ({ACTIVATED}) are not supported, only plain LoRA")


def _both(file: ModelFile) -> dict[str, tuple[Tensor, Tensor]]:
    """The pairs of the file by the name of what they change. Changed norms are left out, as llama.cpp does."""
    halves: dict[str, dict[str, Tensor]] = {}
    for tensor in file.tensors.values():
        name, dot, half = tensor.name.rpartition(".")
        if half in ("lora_a", "lora_b") and dot:
            halves.setdefault(name, {})[half] = _matrix(tensor)
        elif not tensor.name.endswith("_norm.weight"):
            raise ModelFileError(f"{file.path.name}: tensor {tensor.name} is neither .lora_a nor .lora_b")
    for name, found in halves.items():
        if len(found) < 2:
            missing = "lora_b" if "lora_a" in found else "lora_a"
            raise ModelFileError(f"{file.path.name}: tensor {name}.{missing} is missing, the pair has one half only")
    return {name: (found["lora_a"], found["lora_b"]) for name, found in halves.items()}


def _matrix(tensor: FileTensor) -> Tensor:
    """The tensor with two axes at least: some files leave out an axis of one element."""
    flat = len(tensor.shape) == 1
    shape, data = ((1, *tensor.shape), tensor.data[None]) if flat else (tensor.shape, tensor.data)
    return Tensor(tensor.name, tensor.type, shape, data)


def _check_shapes(file: ModelFile, name: str, tensors: Mapping[str, Tensor], a: Tensor, b: Tensor) -> None:
    changed = tensors.get(name)
    if changed is None:
        raise ModelFileError(f"{file.path.name}: the model has no tensor {name}: is the adapter for another model?")
    *lead, out, columns = (1, *changed.shape) if len(changed.shape) == 1 else changed.shape
    rank = b.shape[-1]
    wanted = [(*lead, rank, columns), (*lead, out, rank)]
    if name.endswith(LOOKED_UP):
        wanted = [(out, rank), (columns, rank)]
    if [a.shape, b.shape] != wanted:
        raise ModelFileError(
            f"{file.path.name}: {a.name} {a.shape} and {b.name} {b.shape} do not fit the model's {name} "
            f"{changed.shape}: is the adapter for another model?"
        )
    if name.removesuffix("weight") + "scale" in tensors:
        raise ModelFileError(f"{file.path.name}: {name} has a scale of its own, adapters of such tensors do not work")
