"""Where the text ends: stop strings that may be cut across tokens, the indentation rule, the time limit."""

from collections.abc import Iterable


class Stopper:
    """Passes text on, holding back only the longest tail that may still become a stop string.

    `word` is the stop string found, "" so far; the earliest match counts, of two at one place the shorter.
    """

    def __init__(self, words: Iterable[str], *, include: bool = False) -> None:
        self._words = tuple(word for word in words if word)
        self._first = frozenset(word[0] for word in self._words)
        self._longest = max(map(len, self._words), default=0)
        self._include = include
        self._held = ""
        self.shown = 0  # characters given out so far, not counting the stop string
        self.word = ""

    def feed(self, text: str) -> str:
        """What may be shown after `text` was said. Once `word` is set, all of the text has been given."""
        if not self._words:
            return text
        if self.word:
            return ""
        shown = self._pass(text)
        self.shown += len(shown)
        return shown + (self.word if self._include else "")

    def skip(self, text: str) -> str:
        """Pass `text` on without looking for stop strings."""
        self.shown += len(text)
        return text

    def flush(self) -> str:
        """The text held back: nothing more comes, so it is no stop string."""
        held, self._held = self._held, ""
        return held

    def _pass(self, text: str) -> str:
        text = self._held + text
        found = min(((text.find(word), len(word), word) for word in self._words if word in text), default=None)
        if found is not None:
            at, _, self.word = found
            self._held = ""
            return text[:at]
        cut = self._safe(text)
        self._held = text[cut:]
        return text[:cut]

    def _safe(self, text: str) -> int:
        """Where the longest tail begins that is the beginning of a stop string."""
        for at in range(max(0, len(text) - self._longest + 1), len(text)):
            if text[at] in self._first:
                tail = text[at:]
                if any(word.startswith(tail) for word in self._words):
                    return at
        return len(text)


class Indentation:
    """Ends a text at the first line, after the first, that is indented by fewer than `n` blanks or tabs."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._blanks: int | None = None  # at the start of a line: blanks so far
        self.broken = False

    def feed(self, text: str) -> str:
        """What of `text` is still inside; sets `broken` when a line was not indented enough."""
        for at, char in enumerate(text):
            if self._blanks is not None:
                if char in " \t":
                    self._blanks += 1
                    continue
                if self._blanks < self._n:
                    self.broken = True
                    return text[:at]
                self._blanks = None
            if char == "\n":
                self._blanks = 0
        return text
