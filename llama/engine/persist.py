"""Slots on disk: the tokens of a text and what the cache holds for them.

A file is a line of magic, a line of JSON, the tokens (int32, little-endian), the cache blocks, the recurrent state if
there is one, and a BLAKE2 digest of all that. It fits the model and the cache types it was saved with; the line of JSON
says with which adapters it was read.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from llama.engine.cache import ROOT, Lora
from llama.engine.memory import Memory
from llama.errors import InvalidRequest, Unavailable
from llama.kernels.executor import Executor

MAGIC = b"llama slot 2\n"
DIGEST_BYTES = 32
LONGEST_HEADER = 1 << 16


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The tokens a slot held, the content of its cache blocks, its recurrent state (b"" without one), its adapters."""

    tokens: tuple[int, ...]
    blocks: tuple[bytes, ...]
    state: bytes
    lora: Lora = ROOT


@dataclass(frozen=True, slots=True)
class SlotFile:
    """What a save or restore did: tokens, bytes of the file, milliseconds."""

    n_tokens: int
    n_bytes: int
    ms: float


def take(memory: Memory, executor: Executor, tokens: list[int], lora: Lora, has_state: bool) -> Snapshot:
    """What the cache still holds of a beginning of `tokens`."""
    chain = memory.open(tokens, len(tokens), lora)
    known = tokens[: chain.length]
    try:
        blocks = tuple(executor.read_block(block) for block in chain.blocks)
        state = executor.read_state(chain.state) if has_state and known else b""
    finally:
        memory.release(chain, known)
    return Snapshot(tuple(known), blocks, state, lora)


def put(memory: Memory, executor: Executor, snapshot: Snapshot) -> None:
    """Bring a snapshot into the cache, where the next prompt that begins alike finds it."""
    chain = memory.blank(snapshot.lora)
    if not memory.pool.extend(chain, len(snapshot.tokens)):
        memory.drop(chain)
        raise Unavailable("the cache has no room for this slot now, other requests use it", retry_after=5)
    for block, content in zip(chain.blocks, snapshot.blocks, strict=True):
        executor.write_block(block, content)
    if snapshot.state:
        executor.write_state(chain.state, snapshot.state)
    memory.pool.record(chain, list(snapshot.tokens))
    memory.release(chain, snapshot.tokens)


def write(path: Path, snapshot: Snapshot, fingerprint: str) -> int:
    """Write `snapshot` to `path`, whole or not at all; return the bytes of the file."""
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    partial = path.with_name(path.name + f".{os.getpid()}.part")
    try:
        with partial.open("wb") as file:
            for part in _parts(snapshot, fingerprint):
                digest.update(part)
                file.write(part)
            file.write(digest.digest())
            size = file.tell()
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return size


def _parts(snapshot: Snapshot, fingerprint: str) -> Iterator[bytes]:
    block = len(snapshot.blocks[0]) if snapshot.blocks else 0
    header = {
        "fingerprint": fingerprint,
        "tokens": len(snapshot.tokens),
        "blocks": len(snapshot.blocks),
        "block_bytes": block,
        "state_bytes": len(snapshot.state),
        "lora": list(snapshot.lora),
    }
    yield MAGIC
    yield json.dumps(header).encode() + b"\n"
    yield np.asarray(snapshot.tokens, "<i4").tobytes()
    yield from snapshot.blocks
    yield snapshot.state


def read(path: Path, fingerprint: str) -> tuple[Snapshot, int]:
    """The snapshot in `path` and the bytes of the file. Raises InvalidRequest if it is damaged or of another model."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidRequest(f'"filename": cannot read {path.name}: {error.strerror}', "filename") from error
    body, digest = content[:-DIGEST_BYTES], content[-DIGEST_BYTES:]
    if not body.startswith(MAGIC) or hashlib.blake2b(body, digest_size=DIGEST_BYTES).digest() != digest:
        raise InvalidRequest(f'"filename": {path.name} is not an undamaged slot file; save the slot again', "filename")
    end = body.find(b"\n", len(MAGIC), len(MAGIC) + LONGEST_HEADER)
    header = json.loads(body[len(MAGIC) : end])
    if header["fingerprint"] != fingerprint:
        raise InvalidRequest(
            f'"filename": {path.name} was saved with another model, other cache types or other kernels', "filename"
        )
    return _unpack(body[end + 1 :], header), len(content)


def _unpack(body: bytes, header: dict[str, Any]) -> Snapshot:
    """The digest was right, so the counts are those that were written."""
    at = header["tokens"] * 4
    tokens = tuple(np.frombuffer(body[:at], "<i4").tolist())
    size = header["block_bytes"]
    blocks = tuple(body[at + i * size : at + (i + 1) * size] for i in range(header["blocks"]))
    at += header["blocks"] * size
    return Snapshot(tokens, blocks, body[at : at + header["state_bytes"]], tuple(header["lora"]))
