"""Generations under the forty schemas of `forty.json`, through a server, each parsed and validated.

Models: whatever the server has; `random_weights` writes one that knows nothing, over any vocabulary, so that the
grammar alone keeps its text in shape.
"""

import json
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, time
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for

SCHEMAS: dict[str, Any] = json.loads((Path(__file__).parent / "forty.json").read_text())
FILTERED = {"top_k": 40, "top_p": 0.95, "min_p": 0.05}
UNFILTERED = {"top_k": 0, "top_p": 1.0, "min_p": 0.0}
FORMATS = Draft202012Validator.FORMAT_CHECKER

Post = Callable[[str, Any], Any]
"""Sends a body to a path and returns the JSON of the answer."""


FORMATS.checks("date-time", raises=ValueError)(lambda text: bool(datetime.fromisoformat(text).tzinfo))
FORMATS.checks("time", raises=ValueError)(lambda text: bool(time.fromisoformat(text).tzinfo))


@dataclass(frozen=True, slots=True)
class Generation:
    """What came back under a schema. problem: why it is not right; "" where it is, or was cut by its length."""

    name: str
    seed: int
    text: str
    finish_reason: str
    problem: str

    @property
    def kind(self) -> str:
        """valid, cut or invalid."""
        return "invalid" if self.problem else "cut" if self.finish_reason == "length" else "valid"


def poster(port: int) -> Post:
    """Sends to 127.0.0.1:port, and is patient: many texts may be written at once, on a busy machine."""

    def post(path: str, body: Any) -> Any:
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=600) as answer:
            return json.load(answer)

    return post


def generate(post: Post, name: str, seed: int, *, max_tokens: int) -> Generation:
    """One generation at temperature 1.5, by chat or by completion, with the usual filters or without any."""
    schema = SCHEMAS[name]
    sampling = {"temperature": 1.5, "seed": seed, "max_tokens": max_tokens, "repeat_penalty": 1.0}
    sampling |= FILTERED if seed % 2 else UNFILTERED
    if seed % 3:
        format = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
        messages = [{"role": "user", "content": f"Answer in JSON: an example of {name}."}]
        body = {**sampling, "messages": messages, "response_format": format}
        choice = post("/v1/chat/completions", body)["choices"][0]
        text = choice["message"]["content"]
    else:
        choice = post("/v1/completions", {**sampling, "prompt": f"{name} as JSON: ", "json_schema": schema})["choices"][
            0
        ]
        text = choice["text"]
    cut = choice["finish_reason"] == "length"
    return Generation(name, seed, text, choice["finish_reason"], "" if cut else problem(schema, text))


def problem(schema: Any, text: str) -> str:
    """What is wrong with `text` as an answer under `schema`; "" if nothing is."""
    try:
        value = json.loads(text)
    except ValueError as error:
        return f"no JSON: {error}"
    wanted = schema or {"type": "object"}  # at the top, {} stands for any object
    validator = validator_for(wanted, Draft202012Validator)(wanted, format_checker=FORMATS)
    return "; ".join(error.message for error in validator.iter_errors(value))


def generate_all(
    post: Post, names: Iterable[str], seeds: Iterable[int], *, max_tokens: int = 400, at_once: int = 8
) -> list[Generation]:
    """One generation for each pair of name and seed, several at a time."""

    def one(pair: tuple[str, int]) -> Generation:
        return generate(post, *pair, max_tokens=max_tokens)

    with ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(one, zip(names, seeds, strict=True)))


def counts(generations: Iterable[Generation]) -> Counter[str]:
    """How many are valid, cut and invalid."""
    return Counter(generation.kind for generation in generations)


def random_weights(vocab: Path, target: Path, *, seed: int = 0) -> None:
    """Write a llama of one small layer with random weights, over the vocabulary of another model file."""
    width, inner, heads = 64, 128, 4
    fields = gguf.GGUFReader(vocab).fields
    n_vocab = len(fields["tokenizer.ggml.tokens"].data)
    writer = gguf.GGUFWriter(target, "llama")
    writer.add_context_length(2048)
    writer.add_embedding_length(width)
    writer.add_block_count(1)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(width // heads)
    for name, field in fields.items():
        if name.startswith("tokenizer."):
            kind = field.types[0]
            writer.add_key_value(name, field.contents(), kind, field.types[-1] if len(field.types) > 1 else None)
    rng = np.random.default_rng(seed)
    for name, shape in _tensors(n_vocab, width, inner):
        values = rng.standard_normal(shape, np.float32) * (0.3 if len(shape) > 1 else 1.0)
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _tensors(n_vocab: int, width: int, inner: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield "token_embd.weight", (n_vocab, width)
    yield "output_norm.weight", (width,)
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        yield f"blk.0.{name}.weight", (width, width)
    for name in ("attn_norm", "ffn_norm"):
        yield f"blk.0.{name}.weight", (width,)
    yield "blk.0.ffn_gate.weight", (inner, width)
    yield "blk.0.ffn_up.weight", (inner, width)
    yield "blk.0.ffn_down.weight", (width, inner)
