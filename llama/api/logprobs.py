"""Log-probabilities in the three shapes that clients know: OpenAI's old object, OpenAI's chat, llama-server's own."""

import codecs
import math
from collections.abc import Iterable, Sequence
from typing import Any

from llama.engine.request import Logprobs, TokenProb

LOWEST = -3.4028234663852886e38  # what llama-server writes for the logarithm of nothing: JSON has no infinity


def finite(logprob: float) -> float:
    """`logprob`, with the logarithm of zero as the lowest float."""
    return max(logprob, LOWEST) if not math.isnan(logprob) else LOWEST


def piece_text(piece: bytes) -> str:
    """The text of a token; halves of characters become U+FFFD."""
    return piece.decode("utf-8", "replace")


class TextLogprobs:
    """OpenAI's old object, filled token by token; `text_offset` counts characters of the answer's text."""

    def __init__(self, n_top: int) -> None:
        self._n_top = n_top
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._offset = 0
        self.tokens: list[str] = []
        self.token_logprobs: list[float | None] = []
        self.top_logprobs: list[dict[str, float] | None] = []
        self.text_offset: list[int] = []

    def prompt(self, pieces: Sequence[bytes], scores: Sequence[Logprobs | None]) -> None:
        """The entries of an echoed prompt; `pieces` are the tokens' texts."""
        for piece, entry in zip(pieces, scores, strict=True):
            self._add(piece, entry)
        self._offset += len(self._decoder.decode(b"", final=True))

    def add(self, entry: Logprobs, shown: bytes) -> None:
        """The entry of a generated token, of which `shown` is in the text."""
        self._add(shown, entry)

    def _add(self, piece: bytes, entry: Logprobs | None) -> None:
        self.tokens.append(piece_text(piece))
        self.text_offset.append(self._offset)
        self._offset += len(self._decoder.decode(piece))
        self.token_logprobs.append(None if entry is None else finite(entry.chosen.logprob))
        self.top_logprobs.append(None if entry is None else self._top(piece, entry))

    def _top(self, piece: bytes, entry: Logprobs) -> dict[str, float]:
        found: dict[str, float] = {}
        if not self._n_top:
            return found
        for other in entry.top[: self._n_top]:
            _keep_higher(found, piece_text(other.piece), finite(other.logprob))
        _keep_higher(found, piece_text(piece), finite(entry.chosen.logprob))
        return found

    def body(self, first: int = 0, last: int | None = None) -> dict[str, object]:
        """The object with entries `first` to `last`."""
        return {
            "tokens": self.tokens[first:last],
            "token_logprobs": self.token_logprobs[first:last],
            "top_logprobs": self.top_logprobs[first:last],
            "text_offset": self.text_offset[first:last],
        }

    def drop(self, count: int) -> None:
        """Forget the last `count` entries: their text was cut away."""
        if count:
            for entries in (self.tokens, self.token_logprobs, self.top_logprobs, self.text_offset):
                del entries[-count:]


def _keep_higher(found: dict[str, float], text: str, logprob: float) -> None:
    if logprob > found.get(text, -math.inf):
        found[text] = logprob


def chat_item(entry: Logprobs, n_top: int) -> dict[str, object]:
    """One item of the chat shape, with llama-server's `id` in it."""
    item = _token(entry.chosen)
    item["top_logprobs"] = [_token(other) for other in entry.top[:n_top]]
    return item


def native_item(entry: Logprobs, *, post_sampling: bool) -> dict[str, object]:
    """One item of llama-server's `completion_probabilities`."""
    if not post_sampling:
        return chat_item(entry, len(entry.top))
    item = _token(entry.chosen, post_sampling=True)
    item["top_probs"] = [_token(other, post_sampling=True) for other in entry.top]
    return item


def _token(token: TokenProb, *, post_sampling: bool = False) -> dict[str, Any]:
    body: dict[str, Any] = {"id": token.id, "token": piece_text(token.piece), "bytes": list(token.piece)}
    if post_sampling:
        body["prob"] = token.prob if token.prob is not None else math.exp(token.logprob)
    else:
        body["logprob"] = finite(token.logprob)
    return body


def prompt_body(scores: Iterable[Logprobs | None], n_top: int) -> list[dict[str, dict[str, object]] | None]:
    """vLLM's `prompt_logprobs`: for each token, itself and the `n_top` likeliest by id; nothing for the first."""
    return [None if entry is None else _ranked(entry, n_top) for entry in scores]


def _ranked(entry: Logprobs, n_top: int) -> dict[str, dict[str, object]]:
    ranks = {token.id: (token, rank) for rank, token in enumerate(entry.top[:n_top], 1)}
    found = {entry.chosen.id: (entry.chosen, entry.rank)} | ranks
    return {
        str(id): {"logprob": finite(token.logprob), "rank": rank, "decoded_token": piece_text(token.piece)}
        for id, (token, rank) in found.items()
    }


def mean_logprob(entries: Iterable[Logprobs]) -> float:
    """The mean log-probability of the chosen tokens; that of nothing is the lowest."""
    values = [entry.chosen.logprob for entry in entries]
    return sum(values) / len(values) if values else -math.inf
