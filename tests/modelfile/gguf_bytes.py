"""Writes GGUF files byte by byte, wrong ones too, which the gguf library would refuse to write."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path

from llama.modelfile.tensor import BLOCKS

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
FORMATS = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "?", U64: "Q", I64: "q", F64: "d"}
SMALL = {"general.architecture": (STRING, "llama"), "llama.block_count": (U32, 2)}


@dataclass(frozen=True)
class Fake:
    """What to write of one tensor; `shape` in GGUF's order, rows first."""

    shape: Sequence[int]
    type: int = 0
    data: bytes | None = None
    offset: int | None = None


@dataclass(frozen=True)
class FakeFile:
    """A GGUF file to be; change fields with `but`."""

    metadata: Mapping[str, tuple[int, object]] = field(default_factory=lambda: dict(SMALL))
    tensors: Mapping[str, Fake] = field(default_factory=lambda: {"a": Fake((4, 2)), "b": Fake((32,), 8)})
    version: int = 3
    order: str = "<"
    magic: bytes = b"GGUF"
    alignment: int = 32

    def but(self, **changes: object) -> "FakeFile":
        return replace(self, **changes)  # type: ignore[arg-type]

    def plus(self, **entries: tuple[int, object]) -> "FakeFile":
        return self.but(metadata={**self.metadata, **{key.replace("__", "."): value for key, value in entries.items()}})

    def value(self, kind: int, value: object) -> bytes:
        if kind == STRING:
            raw = value if isinstance(value, bytes) else str(value).encode()
            return struct.pack(self.order + "Q", len(raw)) + raw
        if kind == ARRAY:
            inner, items = value  # type: ignore[misc]
            return struct.pack(self.order + "IQ", inner, len(items)) + b"".join(self.value(inner, i) for i in items)
        return struct.pack(self.order + FORMATS[kind], value)

    def header(self) -> bytes:
        pack = struct.pack
        out = self.magic + pack(self.order + "IQQ", self.version, len(self.tensors), len(self.metadata))
        for key, (kind, value) in self.metadata.items():
            out += self.value(STRING, key) + pack(self.order + "I", kind) + self.value(kind, value)
        offset = 0
        for name, fake in self.tensors.items():
            shape = pack(f"{self.order}I{len(fake.shape)}Q", len(fake.shape), *fake.shape)
            place = offset if fake.offset is None else fake.offset
            out += self.value(STRING, name) + shape + pack(self.order + "IQ", fake.type, place)
            offset += self.padded(size_of(fake))
        return out

    def padded(self, n: int) -> int:
        return -(-n // self.alignment) * self.alignment

    def bytes(self) -> bytes:
        out = self.header()
        out += bytes(self.padded(len(out)) - len(out))
        for i, fake in enumerate(self.tensors.values()):
            data = fake.data if fake.data is not None else bytes([i + 1]) * size_of(fake)
            out += data + bytes(self.padded(len(data)) - len(data))
        return out

    def write(self, path: Path) -> Path:
        path.write_bytes(self.bytes())
        return path


def size_of(fake: Fake) -> int:
    block, n = BLOCKS.get(fake.type, (1, 1))
    return prod(fake.shape) // block * n


def everything() -> FakeFile:
    """A file with every kind of value and several kinds of tensors."""
    numbers = {f"n.{kind}": (kind, 1) for kind in FORMATS}
    arrays = {f"a.{kind}": (ARRAY, (kind, [1, 0, 1])) for kind in FORMATS}
    texts = {"t": (ARRAY, (STRING, ["x", "", "ü"])), "nest": (ARRAY, (ARRAY, [(I32, [1, 2]), (STRING, ["y"])]))}
    tensors = {
        "token_embd.weight": Fake((32, 8), 2),
        "norm": Fake((32,)),
        "experts": Fake((256, 2, 3), 12),
        "half": Fake((7, 1, 2, 3), 1),
    }
    return FakeFile(metadata={**SMALL, **numbers, **arrays, **texts}, tensors=tensors)
