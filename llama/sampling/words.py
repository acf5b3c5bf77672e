"""Token sequences that must not be said: the last token of each is impossible where the others were just said."""

from collections import defaultdict
from collections.abc import Iterable, Sequence


class BadWords:
    """Remembers as much of the text as the longest sequence can begin with. The prompt is not part of it.

    Sequences of one token are forbidden everywhere, and not this one's matter: see `always`.
    """

    def __init__(self, words: Iterable[Sequence[int]]) -> None:
        self._after: dict[tuple[int, ...], list[int]] = defaultdict(list)  # last tokens, by those before
        for *start, last in words:
            if start:
                self._after[tuple(start)].append(last)
        self._lengths = sorted({len(start) for start in self._after})
        self._said: tuple[int, ...] = ()

    def push(self, token: int) -> None:
        """Tell the next token of the text."""
        if self._lengths:
            self._said = (*self._said, token)[-self._lengths[-1] :]

    def forbidden(self) -> list[int]:
        """The tokens that would complete a sequence now. One look for each length, however many sequences there are."""
        said = self._said
        found = (self._after.get(said[-length:], ()) for length in self._lengths if length <= len(said))
        return [last for lasts in found for last in lasts]
