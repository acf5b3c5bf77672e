"""The bytes that each token stands for."""

import re
from collections.abc import Callable

from llama.tokenizer.tokens import BYTE, NORMAL, SPECIAL, Tokens

BLANK = "▁"  # how vocabularies that escape white space spell a blank
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r"}


def _printable() -> list[int]:
    """The code point by which byte-level vocabularies spell each byte: itself if visible, else one from 256 on."""
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(256, 512))
    return [byte if byte in visible else next(others) for byte in range(256)]


_SPELLING = dict(enumerate(_printable()))
_BYTE_OF = {chr(code): byte for byte, code in _SPELLING.items()}


def spell(data: bytes) -> str:
    """`data` in the spelling of byte-level vocabularies, a character for each byte."""
    return data.decode("latin-1").translate(_SPELLING)


def unspell(text: str) -> bytes:
    """The bytes that `text` spells; characters that spell none are named, as llama.cpp names them."""
    if text.isascii() and " " not in text and text.isprintable():
        return text.encode()
    return b"".join(bytes([_BYTE_OF[char]]) if char in _BYTE_OF else _unknown(char, text) for char in text)


def _unknown(char: str, text: str) -> bytes:
    return f"[UNK_BYTE_0x{char.encode('utf-8', 'surrogatepass').hex()}{text}]".encode("utf-8", "surrogatepass")


def unescape(text: str) -> bytes:
    r"""The bytes of an RWKV token, which spells some of them as \t, \n, \r or \xNN."""
    parts = _ESCAPE.split(text)
    out = bytearray()
    for i, part in enumerate(parts):
        if i % 2 == 0:
            out += part.encode("utf-8", "surrogatepass")
        elif len(part) == 3:
            out.append(int(part[1:], 16))
        else:
            out += _ESCAPED.get(part, part).encode("utf-8", "surrogatepass")
    return bytes(out)


def unblank(text: str) -> bytes:
    """The bytes of a token that spells blanks as U+2581."""
    return text.replace(BLANK, " ").encode("utf-8", "surrogatepass")


def token_pieces(tokens: Tokens, spelled: Callable[[str], bytes]) -> list[bytes]:
    """The bytes of every token: of normal ones as `spelled` says, special ones their text, unused ones nothing."""
    pieces = []
    for text, kind in zip(tokens.texts, tokens.kinds.tolist(), strict=True):
        if kind & SPECIAL:
            pieces.append(text.encode("utf-8", "surrogatepass"))
        elif kind & NORMAL:
            pieces.append(spelled(text))
        elif kind & BYTE:
            pieces.append(_byte(text))
        else:
            pieces.append(b"")
    return pieces


def _byte(text: str) -> bytes:
    """The byte that <0xNN> names; of digits that are none only those before count, as in llama.cpp."""
    digits = re.match("[0-9a-fA-F]*", text[3:5])
    return bytes([int(digits[0], 16) if digits and digits[0] else 0])
