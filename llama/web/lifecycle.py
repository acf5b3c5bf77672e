"""What requests need to know of the process they run in: whether it is stopping, and whether time is up."""

import time
from collections.abc import Callable

MARGIN = 2.0  # seconds before the end of the grace time at which streams end themselves


class Lifecycle:
    """`stopping` is set by whoever runs the server; requests ask `out_of_time` while they wait."""

    def __init__(self, grace: float) -> None:
        self.grace = grace
        self.stopping: Callable[[], bool] = lambda: False
        self._since: float | None = None

    def out_of_time(self) -> bool:
        """True when the server is stopping and its grace time is nearly over."""
        if not self.stopping():
            return False
        if self._since is None:
            self._since = time.monotonic()
        return time.monotonic() - self._since >= max(0.0, self.grace - MARGIN)
