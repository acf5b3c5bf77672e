"""How much prompt a step may read: learnt from how long steps take."""

STRETCH = 3.0  # a step that also reads prompt may take so many times a step that does not
LONGEST = 0.5  # seconds a step may take, so that cancelling and other requests need not wait for long
SMALLEST = 8  # tokens of prompt a step may read in any case
FIRST = 32  # tokens of prompt beside running streams while nothing has been measured
FIRST_ALONE = 64  # the same when nothing runs: on a slow machine more would block the engine for long
GROWTH = 2  # beside streams, a step reads at most so many times as much as the one before: one may have been lucky
MEMORY = 0.25  # weight of the newest measurement


class Pace:
    """Running means of the seconds that a step of speaking takes, and of those that a token of prompt adds."""

    def __init__(self, n_batch: int) -> None:
        self._n_batch = n_batch
        self._last = FIRST
        self.speak: float | None = None
        self.read: float | None = None

    def budget(self, n_speaking: int) -> int:
        """Tokens of prompt that the next step may read beside `n_speaking` sequences that speak."""
        most = min(self._n_batch, FIRST_ALONE if self.read is None else self._tokens(LONGEST))
        if n_speaking:
            if self.speak is None or self.read is None:
                return min(most, FIRST)
            most = min(most, self._tokens((STRETCH - 1) * self.speak), GROWTH * self._last)
        return most

    def measured(self, n_speaking: int, n_read: int, seconds: float) -> None:
        """A step with so many speaking sequences and tokens of prompt took `seconds`."""
        if not n_read:
            self.speak = blend(forget(self.speak, seconds), seconds)
        elif not n_speaking:
            self.read = blend(forget(self.read, seconds / n_read), seconds / n_read)
        elif self.speak is not None and n_read >= SMALLEST // 2:
            self._last = max(n_read, SMALLEST)
            self.read = blend(self.read, max(seconds - self.speak, seconds / 4) / n_read)

    def _tokens(self, seconds: float) -> int:
        """Tokens of prompt that can be read in `seconds`, in multiples of 8 as matrix kernels like them."""
        n = int(seconds / max(self.read or 0.0, 1e-9)) if self.read else self._n_batch
        return max(SMALLEST, min(n, self._n_batch) // SMALLEST * SMALLEST)


def forget(mean: float | None, value: float) -> float | None:
    """The mean, unless it is far too high: then it was measured while code was still being compiled."""
    return None if mean is not None and value < mean / 2 else mean


def blend(mean: float | None, value: float) -> float:
    """The running mean after one more value."""
    return value if mean is None else mean + MEMORY * (value - mean)
