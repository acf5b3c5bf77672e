"""Small vocabularies of every kind, as GGUF metadata: what a model file of that kind holds, made up."""

import struct
import unicodedata
from itertools import count

import numpy as np
from numpy.typing import NDArray

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
BLANK = "▁"
TEXT = """
the quick brown fox jumps over the lazy dog and the other foxes in there then this that than
Привет мир привет как дела héllo wörld naïve café 中文 字符 日本語 がぎぐ 1234567890 don't I'll we've it's
"""

Metadata = dict[str, object]


def pieces() -> list[str]:
    """Beginnings of words behind a blank, short parts of words, and single characters, without repeats."""
    found: dict[str, None] = {}
    for word in TEXT.split():
        for n in range(len(word), 0, -1):
            found[BLANK + word[:n]] = None
        for start in range(len(word)):
            for n in range(min(4, len(word) - start), 0, -1):
                found[word[start : start + n]] = None
    for n in range(1, 9):
        found[BLANK * n] = None
    return list(found)


def _metadata(model: str, tokens: list[tuple[str, int]], scores: list[float] | None = None, **keys: object) -> Metadata:
    metadata: Metadata = {
        "general.architecture": "llama",
        "general.name": "small",
        "tokenizer.ggml.model": model,
        "tokenizer.ggml.tokens": [text for text, _ in tokens],
        "tokenizer.ggml.token_type": np.array([type for _, type in tokens], np.int32),
        **{f"tokenizer.ggml.{key.replace('__', '.')}": value for key, value in keys.items()},
    }
    if scores is not None:
        metadata["tokenizer.ggml.scores"] = np.array(scores, np.float32)
    return metadata


def _sentence_pieces() -> tuple[list[tuple[str, int]], list[float]]:
    tokens = [
        ("<unk>", UNKNOWN),
        ("<s>", CONTROL),
        ("</s>", CONTROL),
        ("<|im_start|>", CONTROL),
        ("<|im_end|>", CONTROL),
    ]
    tokens += [("<|endoftext|>", CONTROL), ("[INST]", USER_DEFINED), ("\t\t", USER_DEFINED)]
    tokens += [(f"<0x{byte:02X}>", BYTE) for byte in range(256)]
    special = len(tokens)
    tokens += [(text, NORMAL) for text in pieces()]
    ranks = count(1)
    return tokens, [0.0] * special + [-float(next(ranks) * 7 % 1009) / 8 for _ in tokens[special:]]


def spm(**keys: object) -> Metadata:
    tokens, scores = _sentence_pieces()
    return _metadata("llama", tokens, scores, **keys)


def spm_without_bytes(**keys: object) -> Metadata:
    metadata = spm(**keys)
    kept = [i for i, type in enumerate(_types(metadata)) if type != BYTE]
    metadata["tokenizer.ggml.tokens"] = [_texts(metadata)[i] for i in kept]
    for key in ("tokenizer.ggml.token_type", "tokenizer.ggml.scores"):
        values = metadata[key]
        assert isinstance(values, np.ndarray)
        metadata[key] = values[kept]
    return metadata


def _texts(metadata: Metadata) -> list[str]:
    texts = metadata["tokenizer.ggml.tokens"]
    assert isinstance(texts, list)
    return texts


def _types(metadata: Metadata) -> NDArray[np.int32]:
    types = metadata["tokenizer.ggml.token_type"]
    assert isinstance(types, np.ndarray)
    return types


def plamo2() -> Metadata:
    tokens, scores = _sentence_pieces()
    return _metadata("plamo2", tokens, scores)


def ugm(*, fixed: tuple[str, ...] = ("<mask>",), **keys: object) -> Metadata:
    tokens = [("<pad>", CONTROL), ("</s>", CONTROL), ("<unk>", UNKNOWN), *((text, USER_DEFINED) for text in fixed)]
    special = len(tokens)
    tokens += [(text, NORMAL) for text in pieces() if text not in fixed]
    tokens[-1] = (tokens[-1][0], UNUSED)
    scores = [0.0] * special + [-2 - float(i * 7 % 101) / 16 for i in range(len(tokens) - special)]
    return _metadata("t5", tokens, scores, **keys)


def gemma4(model: str = "gemma4", pre: str = "gemma4", **keys: object) -> Metadata:
    tokens, _ = _sentence_pieces()
    tokens += [("\n", NORMAL), ("\n\n", NORMAL), ("\n\n\n", NORMAL)]
    known = {text for text, _ in tokens}
    merges = [f"{text[:n]} {text[n:]}" for text in pieces() for n in range(1, len(text)) if _both(text, n, known)]
    merges.sort(key=lambda merge: (len(merge) * 7 % 11, merge))
    return _metadata(model, tokens, pre=pre, merges=merges, bos_token_id=1, eos_token_id=2, **keys)


def _both(text: str, n: int, known: set[str]) -> bool:
    return text[:n] in known and text[n:] in known


def dna() -> Metadata:
    words = ["ACGTAC", "CCCCCC", "GGTTAA", "ACAAAA"]
    tokens = [(chr(byte), NORMAL) for byte in range(0x21, 0x7F)] + [("Ġ", NORMAL), ("CCCCCC", NORMAL)]
    tokens += [("<dna>", NORMAL), ("</dna>", NORMAL), ("<oov>", NORMAL), *((f"{word}\ue000", NORMAL) for word in words)]
    return _metadata("hybriddna", tokens, pre="gpt-2", merges=["C C", "CC CC", "CCCC CC"])


def rwkv() -> Metadata:
    texts = [f"\\x{byte:02x}" for byte in range(256)]
    words = {word.replace(BLANK, " ") for word in pieces()} | {"\\n\\n", "\\t\\t"}
    texts += sorted(word for word in words if len(word) > 1)
    return _metadata("rwkv", [("<s>", CONTROL), *((text, NORMAL) for text in texts)])


def charmap(extra: dict[str, str] | None = None) -> NDArray[np.uint8]:
    """A precompiled map of characters that composes accents, folds wide letters, and drops what cannot be seen."""
    pairs: dict[str, str] = {}
    for letter in "aeouAEOU":
        for accent in "\u0300\u0301\u0308":
            pairs[letter + accent] = unicodedata.normalize("NFC", letter + accent)
    pairs |= {char: unicodedata.normalize("NFKC", char) for char in "ﬁﬂＡＢＣａｂｃ１２３①②™\u00a0\u2003\u3000½"}
    pairs |= dict.fromkeys("\u200b\ufeff\u00ad\x01", "") | dict.fromkeys("\t\r\n", " ")
    return _compile({key.encode(): value.encode() for key, value in (pairs | (extra or {})).items()})


def _compile(pairs: dict[bytes, bytes]) -> NDArray[np.uint8]:
    """The pairs as a double array whose children lie at their parent's place xor its base xor their byte."""
    pool = bytearray()
    places = {}
    for value in sorted(set(pairs.values())):
        places[value] = len(pool)
        pool += value + b"\0"
    units = np.zeros(1 << 15, np.uint32)
    used = {0}
    waiting = [(0, b"", 0)]
    while waiting:
        at, prefix, label = waiting.pop()
        children = sorted({key[len(prefix)] for key in pairs if key.startswith(prefix) and len(key) > len(prefix)})
        labels = [*children, *([0] if prefix in pairs else [])]
        base = next(b for b in count(1) if not any(at ^ b ^ c in used for c in labels))
        used |= {at ^ base ^ c for c in labels}
        units[at] = base << 10 | (0x100 if prefix in pairs else 0) | label
        if prefix in pairs:
            units[at ^ base] = 0x80000000 | places[pairs[prefix]]
        waiting += [(at ^ base ^ c, prefix + bytes([c]), c) for c in children]
    data = struct.pack("<I", units.nbytes) + units.astype("<u4").tobytes() + bytes(pool)
    return np.frombuffer(data, np.uint8)


# Every kind by the name under which its ids are recorded.
SMALL = {
    "spm": lambda: spm(),
    "spm without prefix": lambda: spm(add_space_prefix=False, add_eos_token=True),
    "spm named phi-3": lambda: _named(spm(), "A Phi-3 model"),
    "plamo2": plamo2,
    "ugm": lambda: ugm(),
    "ugm prefix": lambda: ugm(add_space_prefix=True, add_bos_token=True, bos_token_id=0),
    "ugm merged": lambda: ugm(add_space_prefix=True, remove_extra_whitespaces=True, precompiled_charsmap=charmap()),
    "ugm mapped": lambda: ugm(precompiled_charsmap=charmap({"the": "THE ", "a b": "Q"})),
    "ugm bytewise": lambda: ugm(fixed=("▁<extra_id_0>", "При", "<mask>"), precompiled_charsmap=charmap()),
    "ugm mask": lambda: _architecture(ugm(remove_extra_whitespaces=True), "nomic-bert-moe"),
    "gemma4": lambda: gemma4(),
    "sarvam": lambda: gemma4("gpt2", "sarvam-moe"),
    "whitespace": lambda: gemma4("whitespace", "whitespace"),
    "whitespace lower": lambda: gemma4("whitespace", "whitespace", normalizer__lowercase=True),
    "rwkv": rwkv,
    "dna": dna,
}


def _named(metadata: Metadata, name: str) -> Metadata:
    return metadata | {"general.name": name}


def _architecture(metadata: Metadata, architecture: str) -> Metadata:
    return metadata | {"general.architecture": architecture}
