"""Tiny models for tests: the shared architecture zoo, and further ones that are kept beside this file.

A further model is a spec of the same kind, with llama.cpp's results for three of its 24 tokens.
"""

import importlib.util
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.conftest import SHARED

HERE = Path(__file__).parent
FURTHER_ROWS = [5, 12, 23]


@dataclass(frozen=True, slots=True)
class ZooModel:
    """A spec and what llama.cpp makes of it. `rows`: the tokens that `wanted` is about, None for all."""

    name: str
    spec: dict[str, Any]
    wanted: dict[str, NDArray[np.float32]]
    rows: Sequence[int] | None = None

    @property
    def tokens(self) -> list[int]:
        """The input."""
        return list(self.spec["tokens"])

    @property
    def is_encoder(self) -> bool:
        """Whether the results are hidden states, not logits."""
        return bool(self.spec["output"] == "embeddings")

    @property
    def is_quantised(self) -> bool:
        """Whether any tensor is not F32."""
        return any(kind != "F32" for _, _, kind in self.spec["tensors"])

    def write(self, folder: Path) -> Path:
        """Build the model file."""
        path = folder / f"{self.name}.gguf"
        path.write_bytes(make_model().build(self.spec))
        return path

    def error(self, got: NDArray[np.float32]) -> float:
        """Normalised mean square error of all rows, against the nearest of the references."""
        kept = got if self.rows is None else got[list(self.rows)]
        return min(nmse(kept, want) for name, want in self.wanted.items() if name != "pooled")


def nmse(got: NDArray[np.float32], want: NDArray[np.float32]) -> float:
    """Sum of squared differences over the sum of squares."""
    assert got.shape == want.shape
    difference = got.astype(np.float64) - want
    return float((difference**2).sum() / (want.astype(np.float64) ** 2).sum())


@cache
def make_model() -> ModuleType:
    """The shared script that writes a model from its spec."""
    spec = importlib.util.spec_from_file_location("make_model", SHARED / "zoo" / "make_model.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def zoo_names() -> list[str]:
    """Names of the shared models; none where the shared folder is missing."""
    return sorted(path.stem for path in (SHARED / "zoo" / "specs").glob("*.json"))


def zoo_model(name: str) -> ZooModel:
    """A shared model."""
    path = SHARED / "zoo" / "specs" / f"{name}.json"
    with np.load(path.with_suffix(".npz")) as arrays:
        wanted = {key: arrays[key] for key in ("logits", "logits_dequant", "embeddings", "pooled") if key in arrays}
    return ZooModel(name, json.loads(path.read_text()), wanted)


@cache
def _further() -> dict[str, Any]:
    return dict(json.loads((HERE / "further.json").read_text()))


def further_names() -> list[str]:
    """Names of the further models."""
    return sorted(_further())


def further_model(name: str) -> ZooModel:
    """A further model."""
    spec = dict(_further()[name])
    spec["tensors"] = [
        [tensor, [int(n) for n in shape.split("x")], "F32"]
        for tensor, shape in (item.rsplit(":", 1) for item in spec["tensors"].split())
    ]
    with np.load(HERE / "further.npz") as arrays:
        return ZooModel(name, spec, {"rows": arrays[name]}, FURTHER_ROWS)
