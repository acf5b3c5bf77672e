"""The bytes that each token stands for."""

import re
from collections.abc import Callable, Sequence

import numpy as np

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
_BETWEEN = "\ue000"  # stands in no spelling
_BYTES = {code: _BYTE_OF.get(chr(code), "\ud800") for code in range(512)}  # U+D800 cannot be encoded: it raises


def spell(data: bytes) -> str:
    """`data` in the spelling of byte-level vocabularies, a character for each byte."""
    return data.decode("latin-1").translate(_SPELLING)


def unspell_all(texts: Sequence[str]) -> list[bytes]:
    """The bytes that each text spells."""
    try:
        return [text.encode("latin-1") for text in _BETWEEN.join(texts).translate(_BYTES).split(_BETWEEN)]
    except UnicodeEncodeError:
        return [_unspell(text) for text in texts]


def _unspell(text: str) -> bytes:
    """The bytes that `text` spells; characters that spell none are named, as llama.cpp names them."""
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


def unblank_all(texts: Sequence[str]) -> list[bytes]:
    """The bytes of tokens that spell blanks as U+2581."""
    return [text.replace(BLANK, " ").encode("utf-8", "surrogatepass") for text in texts]


def raw_all(tokens: Tokens) -> list[bytes]:
    """The bytes of tokens that are spelled as they are; <0xNN> is that byte."""
    kinds = tokens.kinds.tolist()
    return [
        _byte(text) if kind & BYTE else text.encode("utf-8", "surrogatepass")
        for text, kind in zip(tokens.texts, kinds, strict=True)
    ]


def token_pieces(tokens: Tokens, spelled: Callable[[Sequence[str]], list[bytes]]) -> list[bytes]:
    """The bytes of every token: of normal ones as `spelled` says, special ones their text, unused ones nothing."""
    plain = (tokens.kinds & NORMAL != 0) & (tokens.kinds & SPECIAL == 0)
    normal: list[int] = np.flatnonzero(plain).tolist()
    pieces = [b""] * len(tokens)
    for id, piece in zip(normal, spelled([tokens.texts[id] for id in normal]), strict=True):
        pieces[id] = piece
    for id in np.flatnonzero(~plain).tolist():
        kind = tokens.kinds[id]
        if kind & SPECIAL:
            pieces[id] = tokens.texts[id].encode("utf-8", "surrogatepass")
        elif kind & BYTE:
            pieces[id] = _byte(tokens.texts[id])
    return pieces


def _byte(text: str) -> bytes:
    """The byte that <0xNN> names; of digits that are none only those before count, as in llama.cpp."""
    digits = re.match("[0-9a-fA-F]*", text[3:5])
    return bytes([int(digits[0], 16) if digits and digits[0] else 0])
