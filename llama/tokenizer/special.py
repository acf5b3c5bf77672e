"""Finds special tokens in a text, before the rest of it is tokenised."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from llama.tokenizer.tokens import CONTROL, LSTRIP, RSTRIP, UNKNOWN, Tokens

BLANKS = " \t\n\v\f\r"
PREFIX = 2  # characters by which texts are looked up


class SpecialTokens:
    """Parts a text into special tokens and what stands between them. Longer tokens are found before shorter ones."""

    def __init__(self, tokens: Tokens, ids: Sequence[int]) -> None:
        self._tokens = tokens
        self._order = {id: rank for rank, id in enumerate(ids)}
        plain = [id for id in ids if not tokens.kinds[id] & (CONTROL | UNKNOWN)]
        self._index = {True: _Index(tokens, ids), False: _Index(tokens, plain)}

    def split(self, text: str, *, parse_special: bool) -> list[str | int]:
        """Texts, none of them empty, and ids in their order; control tokens are found only with `parse_special`."""
        parts: list[str | int] = [text] if text else []
        present = self._index[parse_special].present(text)
        for id in sorted(present, key=self._order.__getitem__):
            parts = [piece for part in parts for piece in ([part] if isinstance(part, int) else self._cut(part, id))]
        return parts

    def _cut(self, text: str, id: int) -> Iterable[str | int]:
        """`text` cut at each place of the token, with the white space that belongs to it."""
        mark = self._tokens.texts[id]
        kind = int(self._tokens.kinds[id])
        pieces = text.split(mark)
        last = len(pieces) - 1
        for i, piece in enumerate(pieces):
            if kind & RSTRIP and i > 0:
                piece = piece.lstrip(BLANKS)
            if kind & LSTRIP and i < last:
                piece = piece.rstrip(BLANKS)
            if piece:
                yield piece
            if i < last:
                yield id


class _Index:
    """Tells which of many tokens occur in a text, looking for each common beginning of theirs once."""

    def __init__(self, tokens: Tokens, ids: Iterable[int]) -> None:
        self._groups: dict[str, dict[int, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
        for id in ids:
            text = tokens.texts[id]
            self._groups[text[:PREFIX]][len(text)][text] = id

    def present(self, text: str) -> set[int]:
        found: set[int] = set()
        for prefix, lengths in self._groups.items():
            at = text.find(prefix)
            if at >= 0:
                found |= _found(text, at, prefix, lengths)
        return found


def _found(text: str, at: int, prefix: str, lengths: dict[int, dict[str, int]]) -> set[int]:
    """The tokens of one group that occur in `text` at `at`, where the group's beginning is first seen, or later."""
    found: set[int] = set()
    missing = {length: set(group.values()) for length, group in lengths.items()}
    while at >= 0 and missing:
        for length in list(missing):
            id = lengths[length].get(text[at : at + length])
            if id is not None and id in missing[length]:
                found.add(id)
                missing[length].discard(id)
                if not missing[length]:
                    del missing[length]
        at = text.find(prefix, at + 1)
    return found
