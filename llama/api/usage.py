"""Counts and times of an answer, as clients read them."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from llama.engine.request import Finished, Timings


def timings_body(timings: Timings, choices: int = 1) -> dict[str, float]:
    """llama-server's `timings`. Each choice's first token took its time from the prompt, so the rates leave it out."""
    prompt_n, prompt_ms = timings.prompt_n, timings.prompt_ms
    steps, predicted_ms = max(0, timings.predicted_n - choices), timings.predicted_ms
    return {
        "cache_n": timings.cache_n,
        "prompt_n": prompt_n,
        "prompt_ms": prompt_ms,
        "prompt_per_token_ms": prompt_ms / prompt_n if prompt_n else 0.0,
        "prompt_per_second": 1e3 * prompt_n / prompt_ms if prompt_ms > 0 else 0.0,
        "predicted_n": timings.predicted_n,
        "predicted_ms": predicted_ms,
        "predicted_per_token_ms": predicted_ms / steps if steps else 0.0,
        "predicted_per_second": 1e3 * steps / predicted_ms if steps and predicted_ms > 0 else 0.0,
    }


@dataclass(slots=True)
class Tally:
    """Adds up what the choices of an answer used. The prompt of several choices counts once."""

    prompts: list[int]  # tokens of each prompt
    latest: dict[tuple[int, int], Timings] = field(default_factory=dict)  # by prompt and choice
    tokens: dict[tuple[int, int], int] = field(default_factory=dict)
    reasoning: int = 0

    def note(self, prompt: int, choice: int, timings: Timings) -> None:
        """The choice has come so far."""
        self.latest[prompt, choice] = timings
        self.tokens[prompt, choice] = timings.predicted_n

    def finish(self, prompt: int, event: Finished) -> None:
        """The choice is complete."""
        self.note(prompt, event.index, event.timings)
        self.tokens[prompt, event.index] = event.n_tokens

    @property
    def cached(self) -> int:
        """Prompt tokens that the cache supplied."""
        return sum(timings.cache_n for (_, choice), timings in self.latest.items() if choice == 0)

    def usage(self) -> dict[str, object]:
        """OpenAI's `usage`, summed over prompts and choices."""
        prompt, completion = sum(self.prompts), sum(self.tokens.values())
        body: dict[str, object] = {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": self.cached},
        }
        if self.reasoning:
            body["completion_tokens_details"] = {"reasoning_tokens": self.reasoning}
        return body

    def timings(self) -> dict[str, float]:
        """`timings` of the whole answer: counts summed, times of what ran together not counted twice."""
        firsts = [timings for (_, choice), timings in self.latest.items() if choice == 0]
        everyone = list(self.latest.values())
        total = Timings(
            cache_n=sum(t.cache_n for t in firsts),
            prompt_n=sum(t.prompt_n for t in firsts),
            prompt_ms=_longest(t.prompt_ms for t in firsts),
            predicted_n=sum(t.predicted_n for t in everyone),
            predicted_ms=_longest(t.predicted_ms for t in everyone),
        )
        return timings_body(total, max(1, len(everyone)))


def _longest(times: Iterable[float]) -> float:
    return max(times, default=0.0)
