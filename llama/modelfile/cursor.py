"""Reads the scalars and strings of a GGUF header one after the other, and never past the end of the file."""

import struct
from typing import Protocol

from llama.errors import ModelFileError

MAX_NAME = 65535  # bytes of a metadata key, by the GGUF specification
MAX_STRING = 1 << 24  # bytes; the longest string in a real file is a chat template of some 100 kB
MAX_ITEMS = 1 << 22  # strings and arrays in one file; large vocabularies with their merges have 0.8 million
MAX_BYTES = 1 << 27  # of all strings and arrays in one file

U32 = struct.Struct("<I")
U64 = struct.Struct("<Q")


class Bytes(Protocol):
    """What is read: a memory map or plain bytes."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: slice, /) -> bytes: ...


class Cursor:
    """A place in a file's bytes. Every read says what it is reading, so that an error can name it."""

    def __init__(self, data: Bytes, name: str) -> None:
        self.data = data
        self.name = name
        self.position = 0
        self.size = len(data)
        self._items_left = MAX_ITEMS
        self._bytes_left = MAX_BYTES

    def fail(self, problem: str) -> ModelFileError:
        """The error to raise about the current place."""
        return ModelFileError(f"{self.name}: {problem} (at byte {self.position} of {self.size})")

    def take(self, n: int, what: str) -> bytes:
        """The next `n` bytes."""
        end = self.position + n
        if end > self.size:
            raise self.fail(f"the file ends inside {what}, which needs {n} bytes")
        taken = self.data[self.position : end]
        self.position = end
        return taken

    def scalar(self, layout: struct.Struct, what: str) -> int | float | bool:
        """The next number of the given layout."""
        value: int | float | bool = layout.unpack(self.take(layout.size, what))[0]
        return value

    def u32(self, what: str) -> int:
        """The next unsigned 32-bit integer."""
        return int(self.scalar(U32, what))

    def u64(self, what: str) -> int:
        """The next unsigned 64-bit integer."""
        return int(self.scalar(U64, what))

    def spend(self, items: int, n_bytes: int, what: str) -> None:
        """Counts towards what one file may hold, so that no file, however large, takes much time or memory to read."""
        self._items_left -= items
        self._bytes_left -= n_bytes
        if self._items_left < 0 or self._bytes_left < 0:
            raise self.fail(f"{what}: more than {MAX_ITEMS} strings or {MAX_BYTES} bytes of metadata in one file")

    def count(self, what: str, item_bytes: int) -> int:
        """A count of items that take `item_bytes` or more each, so the rest of the file bounds it."""
        n = self.u64(what)
        if n > (self.size - self.position) // item_bytes:
            raise self.fail(f"{what} is {n}, more than the rest of the file can hold")
        return n

    def string(self, what: str) -> str:
        """The next string; bytes that are not UTF-8 become U+FFFD."""
        return self.strings(1, what)[0]

    def name_of(self, what: str) -> str:
        """The next string, short enough to be the name of something."""
        start = self.position
        name = self.string(what)
        if self.position - start - U64.size > MAX_NAME:
            raise self.fail(f"{what} is longer than {MAX_NAME} bytes")
        return name

    def strings(self, n: int, what: str) -> list[str]:
        """The next `n` strings. Written as one loop: a vocabulary has a quarter of a million."""
        self.spend(n, 0, what)
        data, position, size, length_of = self.data, self.position, self.size, U64.unpack
        start, texts = position, []
        enough = start + self._bytes_left
        for _ in range(n):
            begin = position + 8
            if begin > size:
                raise self.fail(f"the file ends inside {what}")
            length = length_of(data[position:begin])[0]
            position = begin + length
            if position > size or length > MAX_STRING:
                raise self.fail(f"{what} has a string of {length} bytes, more than there can be")
            if position > enough:
                break
            texts.append(data[begin:position].decode("utf-8", "replace"))
        self.position = position
        self.spend(0, position - start, what)
        return texts
