"""Small models of random weights with what the story model lacks: fill-in-the-middle tokens, a rank head."""

import copy
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.conftest import SHARED
from tests.models.zoo import make_model

CONTROL = 3
QWEN_FIM = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|repo_name|>", "<|file_sep|>")
LLAMA_FIM = ("▁<PRE>", "▁<SUF>", "▁<MID>")

Spec = dict[str, Any]


def zoo_spec(name: str) -> Spec:
    """A copy of a spec of the zoo, to be changed."""
    return copy.deepcopy(dict(json.loads((SHARED / "zoo" / "specs" / f"{name}.json").read_text())))


def resized(spec: Spec, n_vocab: int) -> Spec:
    """The spec with a vocabulary of `n_vocab` tokens."""
    old = spec["vocab"]["size"]
    tensors = [[name, [n_vocab if n == old else n for n in shape], kind] for name, shape, kind in spec["tensors"]]
    return {**spec, "vocab": {**spec["vocab"], "size": n_vocab}, "tensors": tensors}


def write(spec: Spec, path: Path, *, controls: Sequence[str] = (), **keys: Sequence[Any]) -> str:
    """Write the model, with `controls` as its last tokens and `keys` (type, value) in its metadata; return the path."""
    metadata = {key: list(value) for key, value in make_model().metadata(spec).items()}
    if controls:
        metadata["tokenizer.ggml.tokens"][1][-len(controls) :] = controls
        metadata["tokenizer.ggml.token_type"][1][-len(controls) :] = [CONTROL] * len(controls)
    metadata |= {key.replace("__", "."): value for key, value in keys.items()}
    path.write_bytes(make_model().build({**spec, "vocab": None, "kv": metadata}))
    return str(path)


def fim_model(path: Path, controls: Sequence[str] = QWEN_FIM, **keys: Sequence[Any]) -> str:
    """A llama with fill-in-the-middle tokens."""
    return write(resized(zoo_spec("llama"), 400), path, controls=controls, **keys)


def bert_reranker(path: Path, **keys: Sequence[Any]) -> str:
    """A BERT with a classifier of two layers that gives one score."""
    spec = zoo_spec("bert")
    spec["tensors"] += [
        ["cls.weight", [64, 64], "F32"],
        ["cls.bias", [64], "F32"],
        ["cls.output.weight", [64, 1], "F32"],
        ["cls.output.bias", [1], "F32"],
    ]
    return write(spec, path, bert__pooling_type=("u32", 4), **keys)


def qwen_reranker(path: Path, template: str) -> str:
    """A Qwen3 that reads a prompt made of `template` and answers yes or no."""
    spec = zoo_spec("qwen3")
    spec["tensors"].append(["cls.output.weight", [64, 2], "F32"])
    keys: Mapping[str, Sequence[Any]] = {
        "qwen3__pooling_type": ("u32", 4),
        "qwen3__classifier.output_labels": ("arr:str", ["yes", "no"]),
        "tokenizer.chat_template.rerank": ("str", template),
    }
    return write(spec, path, **keys)
