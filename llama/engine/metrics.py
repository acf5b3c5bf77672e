"""What the engine counts: totals for /metrics, and histograms of the times users feel."""

from bisect import bisect_left
from dataclasses import dataclass, field

from llama.engine.request import Timings

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
TOKEN_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1.0)


class Histogram:
    """Counts of observations up to each bound; the last count is everything above."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value


@dataclass(slots=True)
class Metrics:
    """Totals since the start. Written by the engine thread only; readers may see a step half counted."""

    prompt_tokens: int = 0  # evaluated, without those from the cache
    prompt_tokens_cached: int = 0
    prompt_seconds: float = 0.0
    tokens_predicted: int = 0
    tokens_predicted_timed: int = 0  # without each choice's first token, whose time belongs to the prompt
    predicted_seconds: float = 0.0
    n_decode: int = 0  # steps of the model
    n_busy_slots: int = 0  # sum over the steps of the sequences in them
    n_tokens_max: int = 0  # most tokens one sequence ever had
    n_preempted: int = 0
    n_failed: int = 0
    n_cancelled: int = 0
    n_finished: int = 0
    n_closed: int = 0  # choices that are through, however they ended
    queue_seconds: Histogram = field(default_factory=lambda: Histogram(SECONDS))
    first_token_seconds: Histogram = field(default_factory=lambda: Histogram(SECONDS))
    token_seconds: Histogram = field(default_factory=lambda: Histogram(TOKEN_SECONDS))  # mean of a choice
    request_seconds: Histogram = field(default_factory=lambda: Histogram(SECONDS))

    def add_choice(self, timings: Timings, seconds: float) -> None:
        """Count one finished choice, `seconds` after its request was made."""
        self.n_finished += 1
        self.add_tokens(timings)
        self.request_seconds.observe(seconds)
        self.first_token_seconds.observe(seconds - timings.predicted_ms / 1000)
        if timings.predicted_n > 1:
            self.token_seconds.observe(timings.predicted_ms / 1000 / (timings.predicted_n - 1))

    def add_tokens(self, timings: Timings) -> None:
        """Count the tokens of a choice, finished or not."""
        self.prompt_tokens_cached += timings.cache_n
        self.prompt_tokens += timings.prompt_n
        self.prompt_seconds += timings.prompt_ms / 1000
        self.tokens_predicted += timings.predicted_n
        if timings.predicted_n > 1:
            self.tokens_predicted_timed += timings.predicted_n - 1
            self.predicted_seconds += timings.predicted_ms / 1000
