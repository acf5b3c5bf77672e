"""What one rendering may spend: steps, processor time, memory. Templates come with model files, so they are not safe.

A `Meter` counts for one rendering in one thread. The operations of a template (`llama/chat/guard.py`) report to the
meter of their thread, so a compiled template can be rendered by many threads at once. Nothing here uses signals.
"""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from jinja2.exceptions import SecurityError

MAX_SECONDS = 1.5  # of this thread's processor time
MAX_WAIT = 5.0  # seconds on the clock, if the template did not only wait for others
MAX_BYTES = 256 << 20  # made over the whole rendering, garbage included
MAX_TEXT = 16_000_000  # characters of one string
MAX_ITEMS = 200_000  # of one list
MAX_DEPTH = 100  # calls inside calls
LOOK = 64  # steps between two looks at the clock
CALL_BYTES = 64  # what a call is taken to keep

T = TypeVar("T")


class LimitExceeded(SecurityError):
    """The template asks for more time or memory than any chat needs."""


class Meter:
    """Counts what one rendering spends, and raises LimitExceeded when it is too much."""

    __slots__ = ("_began", "_bytes", "_depth", "_start", "_steps")

    def __init__(self) -> None:
        self._steps = 0
        self._bytes = 0
        self._depth = 0
        self._start = time.thread_time()
        self._began = time.monotonic()

    def step(self) -> None:
        """One turn of a loop, one operation."""
        self._steps += 1
        if not self._steps % LOOK:
            self.look()

    def look(self) -> None:
        """Look at the clock."""
        used = time.thread_time() - self._start
        if used > MAX_SECONDS or (used > MAX_SECONDS / 5 and time.monotonic() - self._began > MAX_WAIT):
            raise LimitExceeded("the chat template takes too long")

    def spend(self, n_bytes: int) -> None:
        """Memory is about to be used, or was; large amounts also cost a look at the clock."""
        self._bytes += n_bytes
        if self._bytes > MAX_BYTES:
            raise LimitExceeded("the chat template needs too much memory")
        if n_bytes > 4096:
            self.look()

    def text(self, length: int) -> None:
        """A string of so many characters is about to be made."""
        if length > MAX_TEXT:
            raise LimitExceeded("the chat template makes a text that is too long")
        self.spend(length)

    def items(self, length: int) -> None:
        """A list of so many items is about to be made."""
        if length > MAX_ITEMS:
            raise LimitExceeded("the chat template makes a list that is too long")
        self.spend(8 * length)

    def made(self, value: T) -> T:
        """`value`, after its size was counted."""
        if isinstance(value, str):
            self.text(len(value))
            self.spend(sys.getsizeof(value) - len(value))
        elif isinstance(value, list | tuple | dict):
            self.items(len(value))
        return value

    @contextmanager
    def call(self) -> Iterator[None]:
        """A call from the template, perhaps inside other calls."""
        self.step()
        self.spend(CALL_BYTES)
        if self._depth >= MAX_DEPTH:
            raise LimitExceeded("the chat template calls itself too deeply")
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1


class _Current(threading.local):
    meter: Meter | None = None


_current = _Current()


def meter() -> Meter:
    """The meter of the rendering that runs in this thread."""
    if _current.meter is None:
        raise LimitExceeded("the chat template runs outside of a rendering")
    return _current.meter


@contextmanager
def metered() -> Iterator[Meter]:
    """Everything this thread does inside is one rendering."""
    before = _current.meter
    _current.meter = mine = Meter()
    try:
        yield mine
    finally:
        _current.meter = before
