"""SentencePiece's precompiled map of characters: which sequences of them are replaced by which text.

The map is a trie in one array of 32-bit units. Each has a label (bits 0-7), a mark that a value hangs on it (bit 8) and
the place of its children relative to itself (bits 10-30, times 256 if bit 9 is set): the child by byte c lies at that
place xor c. Values are places in a pool of replacements, each ended by a zero byte.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from llama.errors import ModelFileError

REACH = 64  # characters that are looked at for the longest match
UTF8_LENGTHS = (1,) * 12 + (2, 2, 3, 4)  # of a character, by the upper half of its first byte
_UNSEEN = "\0unseen"  # told apart by identity: None is an answer
_NO_CHARACTER = "\ufffd".encode()
REMEMBERED = 1 << 17  # pairs of characters


class Fixed(Protocol):
    """Texts that are not to be mapped."""

    firsts: set[str]

    def match(self, text: str, at: int) -> int: ...


class CharacterMap:
    """Replaces the longest sequences that the map knows, from the left. An empty map changes nothing."""

    def __init__(self, units: NDArray[np.uint32], pool: bytes) -> None:
        self._units = units.tolist()
        self._pool = pool
        self._pairs: dict[str, str | None] = {}

    def apply(self, text: str, fixed: Fixed) -> str:
        """`text` with its characters replaced, except for texts that are fixed."""
        if not self._units and not fixed.firsts:
            return text
        out: list[str] = []
        at = 0
        while at < len(text):
            length = fixed.match(text, at) if text[at] in fixed.firsts else 0
            if length:
                out.append(text[at : at + length])
            else:
                length, replacement = self._replace(text, at)
                out.append(replacement)
            at += length
        return "".join(out)

    def apply_bytewise(self, text: str, fixed: Fixed) -> str:
        """The same over a text of bytes, where a fixed text may end within a character: its rest becomes U+FFFD."""
        data = text.encode("latin-1")
        out = bytearray()
        at = 0
        while at < len(data):
            length = fixed.match(text, at)
            replacement = data[at : at + length]
            if not length:
                length, value, _ = self._walk(data[at : at + REACH * 4])
                replacement = self._pool[value : max(value, self._pool.find(b"\0", value))]
            if not length:
                length = utf8_length(data, at)
                replacement = data[at : at + length]
            if not length:
                length, replacement = 1, _NO_CHARACTER
            out += replacement
            at += length
        return out.decode("latin-1")

    def _replace(self, text: str, at: int) -> tuple[int, str]:
        """How many characters at `at` are replaced, and by what."""
        pair = text[at : at + 2]
        alone = self._pairs.get(pair, _UNSEEN)
        if alone is _UNSEEN:
            if len(self._pairs) >= REMEMBERED:
                self._pairs.clear()
            alone = self._pairs[pair] = self._alone(pair)
        if alone is not None:
            return 1, alone
        data = text[at : at + REACH].encode("utf-8", "surrogatepass")
        length, value, _ = self._walk(data)
        if length == 0:
            return 1, text[at]
        return len(data[:length].decode("utf-8", "surrogatepass")), self._value(value)

    def _alone(self, pair: str) -> str | None:
        """What the first of two characters becomes if the second has no part in it, else None."""
        first = len(pair[0].encode("utf-8", "surrogatepass"))
        data = pair.encode("utf-8", "surrogatepass")
        length, value, reached = self._walk(data)
        if length > first or (reached == len(data) > first):
            return None
        return self._value(value) if length else pair[0]

    def _walk(self, data: bytes) -> tuple[int, int, int]:
        """The length and value of the longest match at the beginning of `data`, and how far the trie goes along."""
        units = self._units
        length = value = 0
        if not units:
            return 0, 0, 0
        node = _children(units[0])
        for at, byte in enumerate(data):
            node ^= byte
            if byte == 0 or node >= len(units) or units[node] & 0x800000FF != byte:
                return length, value, at
            leaf = units[node] & 0x100
            node ^= _children(units[node])
            if leaf and node < len(units):
                length, value = at + 1, units[node] & 0x7FFFFFFF
        return length, value, len(data)

    def _value(self, at: int) -> str:
        end = max(at, self._pool.find(b"\0", at))
        return self._pool[at:end].decode("utf-8", "replace")


def utf8_length(data: bytes, at: int) -> int:
    """How many bytes the character at `at` has by its first byte, 0 if they are not there."""
    length = UTF8_LENGTHS[data[at] >> 4] if data[at] < 0xF8 and data[at] & 0xC0 != 0x80 else 0
    rest = data[at + 1 : at + length]
    return length if len(rest) == length - 1 and all(byte & 0xC0 == 0x80 for byte in rest) else 0


def _children(unit: int) -> int:
    return (unit >> 10) << ((unit & 0x200) >> 6)


def read_charmap(value: object) -> CharacterMap:
    """The map of `tokenizer.ggml.precompiled_charsmap`; without it characters stay what they are."""
    if value is None:
        return CharacterMap(np.empty(0, np.uint32), b"")
    data = value.tobytes() if isinstance(value, np.ndarray) and value.dtype.itemsize == 1 else b""
    size = int.from_bytes(data[:4], "little")
    if len(data) < 4 or size + 4 >= len(data) or size % 4:
        raise ModelFileError('"tokenizer.ggml.precompiled_charsmap" is cut short or no array of bytes')
    return CharacterMap(np.frombuffer(data, "<u4", size // 4, 4), data[4 + size :])
