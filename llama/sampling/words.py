"""Token sequences that must not be said: the last token of each is impossible where the others were just said."""

from collections.abc import Iterable, Sequence


class BadWords:
    """Remembers as much of the text as the longest sequence can begin with. The prompt is not part of it."""

    def __init__(self, words: Iterable[Sequence[int]]) -> None:
        self._words = [(tuple(word[:-1]), word[-1]) for word in words]
        self._memory = max(len(start) for start, _ in self._words)
        self._said: tuple[int, ...] = ()

    def push(self, token: int) -> None:
        """Tell the next token of the text."""
        if self._memory:
            self._said = (*self._said, token)[-self._memory :]

    def forbidden(self) -> list[int]:
        """The tokens that would complete a sequence now."""
        said = self._said
        return [last for start, last in self._words if not start or said[-len(start) :] == start]
