"""The tensors of a model file by name, checked for shape as they are taken."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from llama.errors import ModelFileError
from llama.kernels.tensor import Tensor
from llama.modelfile import FileTensor


@dataclass(slots=True)
class Weights:
    """Tensors by name. A shape is in numpy's order; None stands for any size."""

    tensors: Mapping[str, Tensor]
    prefix: str = ""
    _used: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, tensors: Mapping[str, FileTensor]) -> "Weights":
        """The tensors of an open model file."""
        return cls({t.name: Tensor(t.name, t.type, tuple(t.shape), t.data) for t in tensors.values()})

    def under(self, prefix: str) -> "Weights":
        """The tensors whose names start with `prefix`, named without it."""
        return Weights(self.tensors, self.prefix + prefix, self._used)

    def has(self, name: str) -> bool:
        """Whether the file has this tensor."""
        return self.prefix + name in self.tensors

    def get(self, name: str, *shape: int | None) -> Tensor | None:
        """The tensor, or None if the file lacks it; of another shape: ModelFileError."""
        tensor = self.tensors.get(self.prefix + name)
        if tensor is None:
            return None
        if shape and not _fits(tensor.shape, shape):
            wanted = ", ".join("any" if n is None else str(n) for n in shape)
            raise ModelFileError(f"tensor {tensor.name}: expected shape ({wanted}), got {tensor.shape}")
        self._used.add(tensor.name)
        return tensor

    def need(self, name: str, *shape: int | None) -> Tensor:
        """The tensor; ModelFileError if the file lacks it or it has another shape."""
        tensor = self.get(name, *shape)
        if tensor is None:
            wanted = ", ".join("any" if n is None else str(n) for n in shape)
            raise ModelFileError(f"the model file has no tensor {self.prefix}{name} of shape ({wanted})")
        return tensor

    def unused(self) -> list[str]:
        """Names of the tensors that nobody has asked for."""
        return [name for name in self.tensors if name not in self._used]

    def first(self, *names: str) -> str:
        """The first of these names that the file has, else the first of all."""
        return next((name for name in names if self.has(name)), names[0])

    def stacked(self, name: str, n: int, *shape: int | None) -> Tensor:
        """Expert matrices (n, *shape) as one tensor; old files have one tensor an expert, `ffn_up.3.weight`."""
        if self.has(f"{name}_exps.weight") or not self.has(f"{name}.0.weight"):
            return self.need(f"{name}_exps.weight", n, *shape)
        parts = [self.need(f"{name}.{expert}.weight", *shape) for expert in range(n)]
        first = parts[0]
        if any(part.type != first.type for part in parts):
            raise ModelFileError(f"tensors {first.name} and its fellows are of different types")
        return Tensor(
            f"{self.prefix}{name}_exps.weight", first.type, (n, *first.shape), np.stack([p.data for p in parts])
        )


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    """Whether a shape is as wanted; leading axes of one element do not count."""
    while len(shape) > len(wanted) and shape[0] == 1:
        shape = shape[1:]
    return len(shape) == len(wanted) and all(b is None or a == b for a, b in zip(shape, wanted, strict=True))
