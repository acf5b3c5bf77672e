"""/v1/completions: events become OpenAI's text completion, with its old log-probabilities, echo and best_of."""

from dataclasses import dataclass, field
from typing import Any

from llama.api.answer import Chunk, Job, OpenAIAnswer, progress_body
from llama.api.call import TextCall
from llama.api.logprobs import TextLogprobs, mean_logprob, prompt_body
from llama.engine.request import Finished, Logprobs, PromptProgress, PromptScored, Token

FINISH = {"eos": "stop", "word": "stop", "limit": "length"}


@dataclass(slots=True)
class TextChoice:
    """One choice so far. Log-probabilities up to `sent` went out with earlier chunks."""

    index: int
    text: str = ""
    logprobs: TextLogprobs | None = None
    sent: int = 0
    chosen: list[Logprobs] = field(default_factory=list)
    finish_reason: str | None = None
    stop_reason: str | int | None = None
    prompt_logprobs: list[Any] | None = None

    def body(self) -> dict[str, Any]:
        """The choice of a whole answer."""
        return {
            "text": self.text,
            "index": self.index,
            "logprobs": None if self.logprobs is None else self.logprobs.body(),
            "finish_reason": self.finish_reason,
            **({} if self.stop_reason is None else {"stop_reason": self.stop_reason}),
            **({} if self.prompt_logprobs is None else {"prompt_logprobs": self.prompt_logprobs}),
        }


class TextAnswer(OpenAIAnswer):
    """The answer to one call of /v1/completions. `echoes` are the prompts' texts if they are to be repeated."""

    kind = chunk_kind = "text_completion"

    def __init__(self, job: Job, text_call: TextCall, echoes: list[str] | None) -> None:
        super().__init__(job)
        self._text_call = text_call
        self._echoes = echoes
        self._last: list[dict[str, Any]] = []
        self._choices = [TextChoice(index) for index in range(len(job.prompts) * job.n)]
        for choice in self._choices:
            if text_call.logprobs is not None:
                choice.logprobs = TextLogprobs(text_call.logprobs)
            if echoes is not None:
                choice.text = echoes[choice.index // job.n]

    def opening(self) -> list[Chunk]:
        if self._echoes is None or self._text_call.logprobs is not None:
            return []  # with log-probabilities the echo comes with its scores
        return [self._chunk(choice, choice.text) for choice in self._choices if choice.text]

    def scored(self, prompt: int, event: PromptScored) -> list[Chunk]:
        choice = self._choices[self.index(prompt, event.index)]
        if self._text_call.prompt_logprobs is not None:
            choice.prompt_logprobs = prompt_body(event.logprobs, self._text_call.prompt_logprobs)
        if self._echoes is None or choice.logprobs is None:
            return []
        text, ids = self._echoes[prompt], self.job.prompts[prompt]
        pieces = echo_pieces([self.job.vocab.piece(id) for id in ids], text)
        choice.logprobs.prompt(pieces, event.logprobs)
        return [self._chunk(choice, text)]

    def token(self, prompt: int, event: Token) -> list[Chunk]:
        choice = self._choices[self.index(prompt, event.index)]
        choice.text += event.text
        self._note(choice, event.logprobs, self.job.shown(event.id))
        return [self._chunk(choice, event.text, event)] if event.text else []

    def finished(self, prompt: int, event: Finished) -> list[Chunk]:
        choice = self._choices[self.index(prompt, event.index)]
        choice.text += event.text
        choice.finish_reason = FINISH[event.reason]
        choice.stop_reason = stop_reason(event, self.job)
        if choice.logprobs is not None:
            choice.logprobs.drop(event.dropped)
        self._note(choice, event.logprobs, b"")
        chunks = [self._chunk(choice, event.text, event)] if event.text else []
        chunks.append(self._chunk(choice, "", event))
        if all(other.finish_reason for other in self._choices):
            self._last, chunks = chunks[-1:], chunks[:-1]
        return chunks

    def progress(self, prompt: int, event: PromptProgress) -> list[Chunk]:
        choice = self._choices[self.index(prompt, event.index)]
        body = {"text": "", "index": choice.index, "logprobs": None, "finish_reason": None}
        return [{**self.chunk([body]), "prompt_progress": progress_body(event)}]

    def closing(self) -> list[Chunk]:
        return self.last_chunks(self._last)

    def body(self) -> dict[str, Any]:
        return self.whole([choice.body() for choice in self._best()])

    def _note(self, choice: TextChoice, entry: Logprobs | None, shown: bytes) -> None:
        if entry is None:
            return
        choice.chosen.append(entry)
        if choice.logprobs is not None:
            choice.logprobs.add(entry, shown)

    def _chunk(self, choice: TextChoice, text: str, event: Token | Finished | None = None) -> dict[str, Any]:
        """A chunk with `text` and the log-probabilities that belong to it or were held back with it."""
        logprobs = None
        done = isinstance(event, Finished) and not text
        if choice.logprobs is not None:
            if len(choice.logprobs.tokens) > choice.sent:
                logprobs = choice.logprobs.body(choice.sent)
            choice.sent = len(choice.logprobs.tokens)
        body: dict[str, Any] = {
            "text": text,
            "index": choice.index,
            "logprobs": logprobs,
            "finish_reason": choice.finish_reason if done else None,
        }
        if done and choice.stop_reason is not None:
            body["stop_reason"] = choice.stop_reason
        return self.chunk([body], event)

    def _best(self) -> list[TextChoice]:
        """The n most probable choices of each prompt, numbered anew."""
        wanted, made = self.job.call.n, self.job.n
        if wanted == made:
            return self._choices
        kept = []
        for first in range(0, len(self._choices), made):
            ranked = sorted(self._choices[first : first + made], key=lambda c: mean_logprob(c.chosen), reverse=True)
            kept += ranked[:wanted]
        for index, choice in enumerate(kept):
            choice.index = index
        return kept


def stop_reason(event: Finished, job: Job) -> str | int | None:
    """What vLLM calls so: the stop string, or the stop token that the request named."""
    if event.reason == "word":
        return event.stopping_word
    return event.stop_token if event.stop_token in job.call.stop_token_ids else None


def echo_pieces(pieces: list[bytes], text: str) -> list[bytes]:
    """The texts of a prompt's tokens, so that they join to `text`: what the tokenizer put in front is taken off."""
    target = text.encode()
    surplus = len(b"".join(pieces)) - len(target)
    if surplus <= 0 or not b"".join(pieces).endswith(target):
        return pieces
    fitted = []
    for piece in pieces:
        cut = min(surplus, len(piece))
        fitted.append(piece[cut:])
        surplus -= cut
    return fitted
