"""How much prompt a step may read: learnt from how long steps take."""

STRETCH = 3.5  # a step that also reads prompt may take so many times a step that does not
LONGEST = 0.5  # seconds a step may take, so that cancelling and other requests need not wait for long
SMALLEST = 16  # tokens of prompt a step may read in any case
FIRST = 32  # tokens of prompt beside running streams while nothing has been measured
FIRST_ALONE = 64  # the same when nothing runs: on a slow machine more would block the engine for long
MEMORY = 0.25  # weight of the newest measurement


class Pace:
    """Running means of the seconds that a step of speaking takes, and of those that a token of prompt adds."""

    def __init__(self, n_batch: int) -> None:
        self._n_batch = n_batch
        self.speak: float | None = None
        self.read: float | None = None

    def budget(self, n_speaking: int) -> int:
        """Tokens of prompt that the next step may read beside `n_speaking` sequences that speak."""
        most = min(self._n_batch, FIRST_ALONE if self.read is None else self._tokens(LONGEST))
        if n_speaking:
            if self.speak is None or self.read is None:
                return min(most, FIRST)
            most = min(most, self._tokens((STRETCH - 1) * self.speak))
        return most

    def measured(self, n_speaking: int, n_read: int, seconds: float) -> None:
        """A step with so many speaking sequences and tokens of prompt took `seconds`."""
        if not n_read:
            self.speak = blend(self.speak, seconds)
        elif not n_speaking:
            self.read = blend(self.read, seconds / n_read)
        elif self.speak is not None and n_read >= SMALLEST // 2:
            self.read = blend(self.read, max(seconds - self.speak, seconds / 8) / n_read)

    def _tokens(self, seconds: float) -> int:
        """Tokens of prompt that can be read in `seconds`, in multiples of 16 as matrix kernels like them."""
        n = int(seconds / max(self.read or 0.0, 1e-9)) if self.read else self._n_batch
        return max(SMALLEST, min(n, self._n_batch) // SMALLEST * SMALLEST)


def blend(mean: float | None, value: float) -> float:
    """The running mean after one more value; forgets at once what was measured while code was still being compiled."""
    if mean is None or value < mean / 2:
        return value
    return mean + MEMORY * (value - mean)
