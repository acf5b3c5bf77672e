"""A model file as the rest of the program sees it, whether it is one file or many shards."""

from collections import Counter
from collections.abc import Mapping
from math import prod
from pathlib import Path
from types import MappingProxyType

from gguf import LlamaFileType

from llama.errors import ModelFileError
from llama.modelfile.shards import open_parts
from llama.modelfile.tensor import FileTensor, type_name


class ModelFile:
    """An opened GGUF model: metadata of the first part, tensors of all parts.

    The tensors are views of memory maps. A map lives as long as a view of it does, so data taken from an open file
    stays valid after `close`, which only lets go of this object's own references.
    """

    def __init__(self, path: Path, metadata: Mapping[str, object], tensors: Mapping[str, FileTensor]) -> None:
        self.path = path
        self.metadata: Mapping[str, object] = MappingProxyType(dict(metadata))
        self.tensors: Mapping[str, FileTensor] = MappingProxyType(dict(tensors))
        self.size = sum(tensor.nbytes for tensor in tensors.values())
        self.n_params = sum(prod(tensor.shape) for tensor in tensors.values())
        self.architecture = _architecture(path, metadata)
        self.file_type = _file_type(metadata, tensors)

    @classmethod
    def open(cls, path: str | Path) -> "ModelFile":
        """Opens a GGUF file of version 2 or 3, or any shard of a split one.

        Raises ModelFileError, saying what is wrong and where, when the file is missing, damaged or of another kind.
        """
        path = Path(path)
        parts = open_parts(path)
        tensors: dict[str, FileTensor] = {}
        for part in parts:
            for name, tensor in part.tensors.items():
                if name in tensors:
                    raise ModelFileError(f"{part.path.name}: tensor {name!r} stands in two parts of the model")
                tensors[name] = tensor
        return cls(path, parts[0].metadata, tensors)

    def close(self) -> None:
        """Lets go of metadata and tensors; the maps close with the last view. Safe to call twice."""
        self.metadata = MappingProxyType({})
        self.tensors = MappingProxyType({})

    def __enter__(self) -> "ModelFile":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _architecture(path: Path, metadata: Mapping[str, object]) -> str:
    name = metadata.get("general.architecture")
    if not isinstance(name, str) or not name:
        raise ModelFileError(f"{path.name}: 'general.architecture' is missing, so this is no language model")
    return name


def _file_type(metadata: Mapping[str, object], tensors: Mapping[str, FileTensor]) -> str:
    """The name of the quantisation mix; when the file does not say, the type that most bytes have."""
    value = metadata.get("general.file_type")
    guessed = int(LlamaFileType.GUESSED)
    if type(value) is int and value & ~guessed in set(LlamaFileType):
        return str(LlamaFileType(value & ~guessed).name).removeprefix("MOSTLY_").removeprefix("ALL_")
    weights: Counter[str] = Counter()
    for tensor in tensors.values():
        weights[type_name(tensor.type)] += tensor.nbytes
    return weights.most_common(1)[0][0] if weights else "unknown"
