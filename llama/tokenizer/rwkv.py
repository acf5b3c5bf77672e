"""RWKV's tokenizer: at each place the longest token that fits, over bytes."""

from collections.abc import Iterable

from llama.tokenizer.pieces import unescape
from llama.tokenizer.tokens import Tokens


class LongestMatchEncoder:
    """Encodes text between special tokens. Safe to call from several threads."""

    def __init__(self, tokens: Tokens, unk: int | None) -> None:
        self._unknown = [] if unk is None else [unk]
        self._ids: dict[bytes, int] = {}
        self._longest: dict[bytes, int] = {}  # by the first two bytes: the longest token that begins so
        for id, text in enumerate(tokens.texts):
            data = unescape(text)
            self._ids[data] = id
            self._longest[data[:2]] = max(len(data), self._longest.get(data[:2], 0))

    def encode(self, text: str) -> Iterable[int]:
        data = text.encode("utf-8", "surrogatepass")
        ids: list[int] = []
        at = 0
        while at < len(data):
            for length in range(self._longest.get(data[at : at + 2], 1), 0, -1):
                id = self._ids.get(data[at : at + length])
                if id is not None:
                    ids.append(id)
                    break
            else:
                ids += self._unknown
            at += length
        return ids
