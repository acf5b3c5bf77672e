"""Text that comes in pieces, read by generators that wait for more where the next step is not decided yet.

A reader is a generator that yields when it needs more text. What a reader does depends on the text alone, never on how
it was cut into pieces: that is why a stream adds up to the same message as the whole text.
"""

from collections.abc import Callable, Generator
from typing import TypeVar

import regex

T = TypeVar("T")
Reading = Generator[None, None, T]
Emit = Callable[[str], None]
SPACE = regex.compile(r"\s*")
OPEN_ENDED = regex.compile(r"[?*+]$|(?<!\\)\|")  # patterns of which a match may be the beginning of a longer one


class Ended(Exception):
    """The text ended where a reader needed more."""


def after(match: "regex.Match[str]") -> int:
    """Where reading goes on behind a match: at its group `body`, if it has one, else at its end."""
    start = match.start("body") if "body" in match.re.groupindex else -1
    return start if start >= 0 else match.end()


class Source:
    """The text that is not read yet."""

    def __init__(self) -> None:
        self.text = ""
        self.at = 0
        self.closed = False  # no more text comes
        self.cut = False  # the text was cut off: its tail is not to be judged
        self._mark: int | None = None

    def feed(self, piece: str) -> None:
        """More text."""
        keep = self.at if self._mark is None else self._mark
        self.text = self.text[keep:] + piece
        self.at -= keep
        if self._mark is not None:
            self._mark = 0

    def close(self, cut: bool) -> None:
        """No more text comes; with `cut` it was not the model that ended it."""
        self.closed = True
        self.cut = cut

    def mark(self, at: int) -> None:
        """Remember this place, so that what follows can be taken back."""
        self._mark = at

    def forget(self) -> None:
        """The place marked is not needed any more."""
        self._mark = None

    def taken(self) -> str:
        """What was read since the mark, which is forgotten."""
        start = self.at if self._mark is None else self._mark
        self._mark = None
        return self.text[start : self.at]

    def wait(self) -> Reading[None]:
        """Come back with more text. Raises Ended if there is none."""
        if self.closed:
            raise Ended
        before = len(self.text) - self.at
        while len(self.text) - self.at == before and not self.closed:
            yield
        if len(self.text) - self.at == before:
            raise Ended

    def copy_until(self, pattern: "regex.Pattern[str] | None", emit: Emit) -> Reading["regex.Match[str] | None"]:
        """Pass text on until the pattern is found and skipped; None when the text ends before.

        What may be the beginning of the pattern is held back; at the end it is text. Raises Ended if the text was cut
        off; then what is held back stays so.
        """
        while True:
            match = pattern and pattern.search(self.text, self.at, partial=not self.closed or self.cut)
            end = match.start() if match else len(self.text)
            if end > self.at:
                emit(self.text[self.at : end])
                self.at = end
            if match and self._decided(match):
                self.at = after(match)
                return match
            if self.closed:
                if self.cut:
                    raise Ended
                return None
            yield

    def take(self, pattern: "regex.Pattern[str]") -> Reading["regex.Match[str] | None"]:
        """Skip the pattern if the text goes on with it, and return its match; wait while that is open.

        A pattern's group `body`, if it has one, is not skipped. Raises Ended if the text was cut off inside.
        """
        while True:
            match = pattern.match(self.text, self.at, partial=not self.closed or self.cut)
            if match is None:
                return None
            if self._decided(match):
                self.at = after(match)
                return match
            if self.closed:
                raise Ended
            yield

    def _decided(self, match: "regex.Match[str]") -> bool:
        """False if more text could complete the match, or make it another one."""
        if match.partial:
            return False
        if self.closed and not self.cut:
            return True
        if match.end() == len(self.text):
            return not OPEN_ENDED.search(match.re.pattern)
        longer = match.re.fullmatch(self.text, match.start(), partial=True)
        return longer is None or not (longer.partial or longer.end() > match.end())

    def space(self) -> Reading[str]:
        """Skip white space and return it. Raises Ended if nothing follows."""
        skipped = ""
        while True:
            match = SPACE.match(self.text, self.at)
            assert match is not None
            skipped += match.group()
            self.at = match.end()
            if self.at < len(self.text):
                return skipped
            yield from self.wait()

    def peek(self) -> Reading[str]:
        """The next character, not skipped. Raises Ended if there is none."""
        while self.at >= len(self.text):
            yield from self.wait()
        return self.text[self.at]

    def rest(self) -> str:
        """All text that is there, skipped."""
        text = self.text[self.at :]
        self.at = len(self.text)
        return text
