"""The tokens of a vocabulary: text, score and kind of each, checked as they come out of the metadata."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from llama.errors import ModelFileError

UNKNOWN, UNUSED, NORMAL, CONTROL, USER_DEFINED, BYTE = 1, 2, 4, 8, 16, 32
LSTRIP, RSTRIP = 64, 128  # white space on this side belongs to the token
SPECIAL = UNKNOWN | CONTROL | USER_DEFINED  # found in the text before anything else is done to it

# tokenizer.ggml.token_type of the GGUF format -> kind
_KINDS = np.array([0, NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE], np.uint8)


@dataclass
class Tokens:
    """All tokens by id. `kinds` are sets of bits; a text that stands there twice means its last id."""

    texts: list[str]
    scores: NDArray[np.float32]  # (n,)
    kinds: NDArray[np.uint8]  # (n,)
    ids: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.ids = dict(zip(self.texts, range(len(self.texts)), strict=True))

    def __len__(self) -> int:
        return len(self.texts)

    def bytes_fallback(self, byte: int) -> int | None:
        """The token of one byte in vocabularies that spell bytes as <0xNN>."""
        return self.ids.get(f"<0x{byte:02X}>")

    def special(self) -> list[int]:
        """The ids of special tokens, those of the longest text first."""
        ids: list[int] = np.flatnonzero(self.kinds & SPECIAL).tolist()
        return sorted(ids, key=lambda id: -len(self.texts[id].encode("utf-8", "surrogatepass")))


def read_tokens(metadata: Mapping[str, object]) -> Tokens:
    """The tokens of `tokenizer.ggml.tokens`, with scores and types where the file has them."""
    texts = metadata.get("tokenizer.ggml.tokens")
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ModelFileError('"tokenizer.ggml.tokens" must be a list of strings, so the file holds no vocabulary')
    n = len(texts)
    if "" in texts:
        texts = [text or f"[EMPTY_{id}]" for id, text in enumerate(texts)]
    scores = _numbers(metadata, "tokenizer.ggml.scores", n)
    types = _numbers(metadata, "tokenizer.ggml.token_type", n)
    if types is None:
        kinds = np.full(n, NORMAL, np.uint8)
    else:
        kinds = _KINDS[np.where((types >= 1) & (types <= 6), types, 0).astype(np.intp)]
    return Tokens(texts, np.zeros(n, np.float32) if scores is None else scores.astype(np.float32), kinds)


def _numbers(metadata: Mapping[str, object], key: str, n: int) -> NDArray[np.float32] | NDArray[np.int32] | None:
    """The first `n` numbers under `key`, None where the file has no such key."""
    values = metadata.get(key)
    if values is None:
        return None
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "if":
        raise ModelFileError(f'"{key}" must be an array of numbers, one for each token')
    if len(values) < n:
        raise ModelFileError(f'"{key}" has {len(values)} entries for {n} tokens')
    return values[:n]
