"""An answer in the making: events go in, chunks come out, and the whole is the fold of the same events."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from llama.api.call import Call
from llama.api.head import FINGERPRINT, Head
from llama.api.run import Run
from llama.api.settings_body import generation_settings
from llama.api.sse import DONE, data
from llama.api.usage import Tally, timings_body
from llama.engine.request import Event, Finished, PromptProgress, PromptScored, Request, Token
from llama.tokenizer import Vocab

Chunk = Any


@dataclass(frozen=True, slots=True)
class Job:
    """A call that was handed to the engine."""

    head: Head
    call: Call
    run: Run
    requests: tuple[Request, ...]  # what the engine was asked, a prompt each
    vocab: Vocab
    preserved: frozenset[int] = field(default_factory=frozenset)

    @property
    def prompts(self) -> list[tuple[int, ...]]:
        """The token ids of every prompt."""
        return [request.prompt for request in self.requests]

    @property
    def n(self) -> int:
        """How many choices the engine makes of each prompt."""
        return self.requests[0].n

    def prompt_text(self, prompt: int = 0) -> str:
        """A prompt as llama-server shows it: with control tokens, without the blank that the tokenizer put in front."""
        return self.vocab.clean(self.requests[prompt].prompt, special=True).decode("utf-8", "replace")

    def shown(self, token: int) -> bytes:
        """What of a token is in the text."""
        return self.vocab.piece(token, special=self.call.special or token in self.preserved)


class Answer(ABC):
    """The common course of all answers. `steps` must be read to its end before `body` is the whole."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.stream = job.call.stream
        self.ping_interval = job.call.ping_interval
        self.tally = Tally([len(prompt) for prompt in job.prompts])

    def steps(self) -> Iterator[list[Chunk]]:
        """The chunks of each event; empty when nothing came for a moment. Raises what the request fails with."""
        opened = False
        for item in self.job.run.events():
            if item is None:
                yield []
                continue
            chunks = [] if opened else self.opening()
            opened = True
            yield chunks + self._take(*item)
        yield self.closing()

    def cancel(self) -> None:
        """Let go of the work behind this answer. Safe to repeat."""
        self.job.run.cancel()

    def encode(self, chunk: Chunk) -> bytes:
        """A chunk as it goes over the wire."""
        return data(chunk)

    def ending(self) -> bytes:
        """What follows the last chunk."""
        return DONE

    def failure(self, error: dict[str, object]) -> bytes:
        """What a stream ends with when it cannot go on; `error` is the body of an error answer."""
        return data(error) + DONE

    def _take(self, prompt: int, event: Event) -> list[Chunk]:
        if isinstance(event, Token):
            self.tally.note(prompt, event.index, event.timings)
            return self.token(prompt, event)
        if isinstance(event, Finished):
            self.tally.finish(prompt, event)
            return self.finished(prompt, event)
        if isinstance(event, PromptScored):
            return self.scored(prompt, event)
        if isinstance(event, PromptProgress):
            return self.progress(prompt, event)
        return []

    def index(self, prompt: int, choice: int) -> int:
        """The number of a choice: prompts count before choices."""
        return prompt * self.job.n + choice

    def opening(self) -> list[Chunk]:
        """Chunks before the first event."""
        return []

    @abstractmethod
    def token(self, prompt: int, event: Token) -> list[Chunk]:
        """Chunks of a token."""

    @abstractmethod
    def finished(self, prompt: int, event: Finished) -> list[Chunk]:
        """Chunks of the end of a choice."""

    def scored(self, prompt: int, event: PromptScored) -> list[Chunk]:
        """Chunks of the prompt's log-probabilities."""
        return []

    def progress(self, prompt: int, event: PromptProgress) -> list[Chunk]:
        """Chunks of the reading of the prompt."""
        return []

    def closing(self) -> list[Chunk]:
        """Chunks after the last event."""
        return []

    @abstractmethod
    def body(self) -> Any:
        """The whole answer."""


def progress_body(event: PromptProgress) -> dict[str, object]:
    """llama-server's `prompt_progress`."""
    return {
        "total": event.total,
        "cache": event.cache,
        "processed": event.processed,
        "time_ms": event.time_ms,
    }


def verbose_body(job: Job) -> dict[str, object]:
    """What the first prompt was and how the request was understood, for people who wonder."""
    request = job.requests[0]
    return {
        "prompt": job.prompt_text(),
        "tokens_evaluated": len(request.prompt),
        "generation_settings": generation_settings(request, job.call, job.vocab.eog),
    }


class OpenAIAnswer(Answer):
    """What the chunks of both OpenAI endpoints have in common."""

    kind = ""
    chunk_kind = ""

    def chunk(self, choices: list[dict[str, Any]], event: Token | Finished | None = None) -> dict[str, Any]:
        """A chunk with these choices."""
        call = self.job.call
        body = {**self.job.head.fields(self.chunk_kind), "choices": choices, "system_fingerprint": FINGERPRINT}
        if event is not None and call.timings_per_token:
            body["timings"] = timings_body(event.timings)
        if call.continuous_usage and choices:
            body["usage"] = self.tally.usage()
        return body

    def last_chunks(self, chunks: list[dict[str, Any]]) -> list[Chunk]:
        """`chunks` that end the stream: the usage comes last when asked for, and the times are on the last chunk."""
        if self.job.call.include_usage:
            chunks.append({**self.chunk([]), "usage": self.tally.usage()})
        if chunks:
            chunks[-1]["timings"] = self.tally.timings()
        return chunks

    def whole(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        """The answer that is not streamed."""
        verbose = {"__verbose": verbose_body(self.job)} if self.job.call.verbose else {}
        return {
            **self.job.head.fields(self.kind),
            **verbose,
            "choices": choices,
            "usage": self.tally.usage(),
            "system_fingerprint": FINGERPRINT,
            "timings": self.tally.timings(),
        }
