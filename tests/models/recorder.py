"""Makes a further model for the tests: a spec out of what an architecture asks for, and llama.cpp's results for it.

    python -m tests.models.recorder recipe.json

A recipe is a JSON object: name, arch, and as needed
    kv        metadata without the architecture in front, over the defaults below; null removes a default
    present   regular expressions: optional tensors that the file has, over the usual ones
    absent    regular expressions: usual tensors that the file lacks
    shapes    regular expression -> shape in numpy's order, for tensors that our code takes in any shape
    norm      "rms" (default) or "layer";  output   "logits" (default) or "embeddings"
It needs llama-cpp-python, which writes the reference; the result is added to further.json and further.npz.
"""

import json
import re
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType
from numpy.typing import NDArray

from llama.kernels.graph import Graph
from llama.kernels.tensor import Tensor
from llama.models.hparams import read_hparams
from llama.models.registry import find_architecture
from llama.models.weights import Weights
from tests.models import zoo_engine
from tests.models.zoo import FURTHER_ROWS, HERE, make_model, nmse

DEFAULTS = {
    "context_length": 512,
    "embedding_length": 64,
    "block_count": 3,
    "feed_forward_length": 128,
    "attention.head_count": 4,
    "attention.head_count_kv": 2,
}
USUAL = [r"blk\.\d+\.(attn|ffn)_norm\.weight", r"blk\.\d+\.ffn_gate\.weight", r"output\.weight"]


@dataclass
class Recording(Weights):
    """Weights that have whatever is asked for, and remember it."""

    present: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    shapes: dict[str, list[int]] = field(default_factory=dict)
    made: dict[str, Tensor] = field(default_factory=dict)
    n_embd: int = 64

    def under(self, prefix: str) -> "Recording":
        prefix = self.prefix + prefix
        return Recording(
            self.tensors, prefix, self._used, self.present, self.absent, self.shapes, self.made, self.n_embd
        )

    def has(self, name: str) -> bool:
        full = self.prefix + name
        wanted = any(re.fullmatch(pattern, full) for pattern in self.present + USUAL)
        return full in self.made or (wanted and not any(re.fullmatch(pattern, full) for pattern in self.absent))

    def get(self, name: str, *shape: int | None) -> Tensor | None:
        return self.need(name, *shape) if self.has(name) else None

    def need(self, name: str, *shape: int | None) -> Tensor:
        full = self.prefix + name
        known = [size for pattern, size in self.shapes.items() if re.fullmatch(pattern, full)]
        sizes = tuple(known[0]) if known else tuple(n or 0 for n in shape) or (self.n_embd,)
        assert all(sizes), f"the recipe must give the shape of {full}"
        ones = np.ones(sizes, np.float32).view(np.uint8)
        return self.made.setdefault(full, Tensor(full, GGMLQuantizationType.F32, sizes, ones))

    def stacked(self, name: str, n: int, *shape: int | None) -> Tensor:
        return self.need(f"{name}_exps.weight", n, *shape)


def make_spec(recipe: dict[str, Any]) -> dict[str, Any]:
    """The zoo's kind of spec for a recipe."""
    arch, output = recipe["arch"], recipe.get("output", "logits")
    epsilon = "layer_norm_rms_epsilon" if recipe.get("norm", "rms") == "rms" else "layer_norm_epsilon"
    values = {**DEFAULTS, f"attention.{epsilon}": 1e-5, **recipe.get("kv", {})}
    kv = {f"{arch}.{key}": value for key, value in values.items() if value is not None}
    vocab = {"kind": "wpm", "size": 150} if output == "embeddings" else {"kind": "spm", "size": 288}
    h = read_hparams(arch, kv, vocab["size"])
    options = [recipe.get(key, default) for key, default in (("present", []), ("absent", []), ("shapes", {}))]
    weights = Recording({}, "", set(), *options, n_embd=h.n_embd)
    weights.need("token_embd.weight", vocab["size"], h.n_embd)
    find_architecture(arch)(Graph(), h, weights)
    seed = 2000 + sum(map(ord, recipe["name"]))
    kv = {"general.architecture": arch, "general.type": "model", "general.name": f"Zoo {seed}", **kv}
    return {
        "arch": arch,
        "seed": seed,
        "output": output,
        "kv": {key: [kind_of(value), value] for key, value in kv.items()},
        "tensors": [[name, list(t.shape[::-1]), "F32"] for name, t in weights.made.items()],
        "vocab": vocab,
        "tokens": [int(n) for n in np.random.default_rng(seed).integers(5, 140, 24)],
    }


def kind_of(value: Any) -> str:
    """GGUF's type for a value of a recipe."""
    if isinstance(value, list):
        return f"arr:{kind_of(value[0]).replace('u32', 'i32')}"
    return {bool: "bool", int: "u32", float: "f32", str: "str"}[type(value)]


def reference(path: Path, tokens: list[int], output: str) -> NDArray[np.float32]:
    """What llama.cpp makes of the model: F32 cache, one batch, no flash attention."""
    import llama_cpp  # only recorders have it

    options = {"n_ctx": 512, "n_batch": 512, "n_ubatch": 512, "type_k": 0, "type_v": 0, "yarn_beta_fast": -1.0}
    embeddings = output == "embeddings"
    kind = {"embedding": True, "pooling_type": 0} if embeddings else {"logits_all": True}
    model = llama_cpp.Llama(str(path), yarn_beta_slow=-1.0, yarn_attn_factor=-1.0, **options, **kind)
    if embeddings:
        return np.array(model.embed(tokens), np.float32)
    model.eval(tokens)
    return np.array(model.scores[: len(tokens)], np.float32)


def add(name: str, spec: dict[str, Any], rows: NDArray[np.float32]) -> None:
    """Put the model among the further ones."""
    specs = json.loads((HERE / "further.json").read_text())
    tensors = " ".join(f"{tensor}:{'x'.join(map(str, shape))}" for tensor, shape, _ in spec["tensors"])
    specs[name] = {**spec, "tensors": tensors}
    lines = [f"{json.dumps(key)}:{json.dumps(specs[key], separators=(',', ':'))}" for key in sorted(specs)]
    (HERE / "further.json").write_text("{" + ",\n".join(lines) + "}\n")
    with np.load(HERE / "further.npz") as arrays:
        kept = {key: arrays[key] for key in arrays}
    np.savez_compressed(HERE / "further.npz", **{**kept, name: rows[FURTHER_ROWS]})


def main(recipe_path: str) -> None:
    """Record one recipe, and say how close our result is."""
    recipe = json.loads(Path(recipe_path).read_text())
    spec = make_spec(recipe)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.gguf"
        path.write_bytes(make_model().build(spec))
        wanted = reference(path, spec["tokens"], spec["output"])
        run = zoo_engine.embeddings if spec["output"] == "embeddings" else zoo_engine.logits
        got = run(path, spec["tokens"], "numpy")
    add(recipe["name"], spec, wanted)
    sys.stdout.write(f"{recipe['name']}: NMSE {nmse(got, wanted):.2e} (right is below 1e-5)\n")


if __name__ == "__main__":
    main(sys.argv[1])
