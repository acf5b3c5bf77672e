"""/completion: events become llama-server's own objects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llama.api.answer import Answer, Chunk, Job, progress_body
from llama.api.logprobs import native_item
from llama.api.settings_body import generation_settings
from llama.api.usage import timings_body
from llama.engine.request import Finished, Logprobs, PromptProgress, Token


@dataclass(slots=True)
class NativeChoice:
    """One choice so far."""

    content: str = ""
    tokens: list[int] = field(default_factory=list)
    entries: list[Logprobs] = field(default_factory=list)
    end: Finished | None = None


class NativeAnswer(Answer):
    """The answer to one call of /completion or /infill."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._choices = [NativeChoice() for _ in range(len(job.prompts) * job.n)]

    def token(self, prompt: int, event: Token) -> list[Chunk]:
        choice = self._choices[self.index(prompt, event.index)]
        choice.content += event.text
        choice.tokens.append(event.id)
        body = self._partial(prompt, event, event.text, [event.id])
        body["tokens_predicted"] = event.timings.predicted_n
        if event.logprobs is not None:
            choice.entries.append(event.logprobs)
            body["completion_probabilities"] = [self._item(event.logprobs)]
        if self.job.call.timings_per_token:
            body["timings"] = timings_body(event.timings)
        return [body]

    def finished(self, prompt: int, event: Finished) -> list[Chunk]:
        choice = self._choices[self.index(prompt, event.index)]
        choice.content += event.text
        choice.end = event
        chunks = []
        if event.stop_token is not None:
            choice.tokens.append(event.stop_token)
        if event.logprobs is not None:
            choice.entries.append(event.logprobs)
        if event.text or event.stop_token is not None:
            tokens = [] if event.stop_token is None else [event.stop_token]
            body = self._partial(prompt, event, event.text, tokens)
            body["tokens_predicted"] = event.n_tokens
            if event.logprobs is not None:
                body["completion_probabilities"] = [self._item(event.logprobs)]
            chunks.append(body)
        return [*chunks, self._final(prompt, event, "", [])]

    def progress(self, prompt: int, event: PromptProgress) -> list[Chunk]:
        return [{**self._partial(prompt, event, "", []), "prompt_progress": progress_body(event)}]

    def ending(self) -> bytes:
        return b""

    def body(self) -> Any:
        bodies = []
        for number, choice in enumerate(self._choices):
            if choice.end is None:
                continue
            tokens = choice.tokens if self.job.call.return_tokens else []
            body = self._final(number // self.job.n, choice.end, choice.content, tokens, whole=True)
            bodies.append(body)
        return bodies[0] if len(bodies) == 1 else bodies

    def _partial(
        self, prompt: int, event: Token | Finished | PromptProgress, content: str, tokens: list[int]
    ) -> dict[str, Any]:
        return {
            "index": self.index(prompt, event.index),
            "content": content,
            "tokens": tokens,
            "stop": False,
            "id_slot": event.id_slot,
            "tokens_predicted": 0,
            "tokens_evaluated": len(self.job.prompts[prompt]),
        }

    def _final(
        self, prompt: int, end: Finished, content: str, tokens: list[int], *, whole: bool = False
    ) -> dict[str, Any]:
        call, ids = self.job.call, self.job.prompts[prompt]
        number = self.index(prompt, end.index)
        body: dict[str, Any] = {
            "index": number,
            "content": content,
            "tokens": tokens,
            "id_slot": end.id_slot,
            "stop": True,
            "model": self.job.head.model,
            "tokens_predicted": end.n_tokens,
            "tokens_evaluated": len(ids),
            "generation_settings": generation_settings(self.job.requests[prompt], call, self.job.vocab.eog),
            "prompt": self.job.prompt_text(prompt),
            "has_new_line": end.has_new_line,
            "truncated": end.truncated,
            "stop_type": end.reason,
            "stopping_word": end.stopping_word,
            "tokens_cached": end.tokens_cached,
            "timings": timings_body(end.timings),
        }
        entries = self._choices[number].entries
        if whole and entries:
            body["completion_probabilities"] = [self._item(entry) for entry in entries]
        return pick(body, call.response_fields) if call.response_fields else body

    def _item(self, entry: Logprobs) -> dict[str, object]:
        return native_item(entry, post_sampling=self.job.call.sampling.post_sampling_probs)


def pick(body: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The named fields of `body`; `a/b` is field b of field a, under that very name. Unknown ones are left out."""
    found = {}
    for name in names:
        value: Any = body
        for part in name.split("/"):
            if not isinstance(value, Mapping) or part not in value:
                break
            value = value[part]
        else:
            found[name] = value
    return found
