"""/v1/chat/completions: deltas become OpenAI's chunks, and the message OpenAI's whole."""

from collections.abc import Sequence
from typing import Any

from llama.api.answer import Chunk, OpenAIAnswer, progress_body
from llama.api.chat_answer import ChatChoice, ParsedAnswer
from llama.api.logprobs import chat_item, prompt_body
from llama.api.openai_text import stop_reason
from llama.chat import ContentDelta, Delta, ReasoningDelta, ToolCallStart
from llama.engine.request import Finished, Logprobs, PromptProgress, PromptScored, Token


class ChatAnswer(ParsedAnswer, OpenAIAnswer):
    """The answer to one call of /v1/chat/completions."""

    kind = "chat.completion"
    chunk_kind = "chat.completion.chunk"
    _last: list[dict[str, Any]] | None = None
    _prompt_logprobs: list[Any] | None = None

    def opening(self) -> list[Chunk]:
        return [self._chunk(choice, {"role": "assistant", "content": None}) for choice in self.choices]

    def deltas(self, choice: ChatChoice, deltas: Sequence[Delta], event: Token | Finished) -> list[Chunk]:
        chunks = [
            self._chunk(choice, delta, event) for delta in (self._delta(delta) for delta in deltas) if delta is not None
        ]
        if chunks and self.chat.logprobs is not None:
            chunks[-1]["choices"][0]["logprobs"] = self._logprobs(choice.unsent())
        return chunks

    def end(self, choice: ChatChoice, event: Finished) -> list[Chunk]:
        chunk = self._chunk(choice, {}, event)
        chunk["choices"][0]["finish_reason"] = self._finish_reason(choice, event)
        rest = choice.unsent()
        if rest and self.chat.logprobs is not None:
            chunk["choices"][0]["logprobs"] = self._logprobs(rest)
        if self.complete:
            self._last = [chunk]
            return []
        return [chunk]

    def progress(self, prompt: int, event: PromptProgress) -> list[Chunk]:
        chunk = self._chunk(self.choices[event.index], {})
        return [{**chunk, "prompt_progress": progress_body(event)}]

    def scored(self, prompt: int, event: PromptScored) -> list[Chunk]:
        self._prompt_logprobs = prompt_body(event.logprobs, self.chat.prompt_logprobs or 0)
        return []

    def closing(self) -> list[Chunk]:
        return self.last_chunks(self._last or [])

    def body(self) -> dict[str, Any]:
        body = self.whole([self._choice(choice, choice.end) for choice in self.choices if choice.end is not None])
        return body if self._prompt_logprobs is None else body | {"prompt_logprobs": self._prompt_logprobs}

    def _choice(self, choice: ChatChoice, end: Finished) -> dict[str, Any]:
        reason = stop_reason(end, self.job)
        return {
            "index": choice.index,
            "message": self._message(choice),
            "finish_reason": self._finish_reason(choice, end),
            "logprobs": None if self.chat.logprobs is None else self._logprobs(choice.entries),
            **({} if reason is None else {"stop_reason": reason}),
        }

    def _message(self, choice: ChatChoice) -> dict[str, Any]:
        message = choice.message
        if self.chat.legacy_functions and choice.called:
            call = message.pop("tool_calls")[0]["function"]
            message["function_call"] = call
        return message

    def _finish_reason(self, choice: ChatChoice, event: Finished) -> str:
        if event.reason == "limit":
            return "length"
        if not choice.called:
            return "stop"
        return "function_call" if self.chat.legacy_functions else "tool_calls"

    def _chunk(
        self, choice: ChatChoice, delta: dict[str, Any], event: Token | Finished | None = None
    ) -> dict[str, Any]:
        body: dict[str, Any] = {"index": choice.index, "delta": delta, "finish_reason": None}
        if self.chat.logprobs is not None:
            body["logprobs"] = None
        return self.chunk([body], event)

    def _delta(self, delta: Delta) -> dict[str, Any] | None:
        if isinstance(delta, ContentDelta):
            return {"content": delta.text} if delta.text else None
        if isinstance(delta, ReasoningDelta):
            return {"reasoning_content": delta.text} if delta.text else None
        if isinstance(delta, ToolCallStart):
            function = {"name": delta.name, "arguments": ""}
            if self.chat.legacy_functions:
                return None if delta.index else {"function_call": function}
            return {"tool_calls": [{"index": delta.index, "id": delta.id, "type": "function", "function": function}]}
        if not delta.text or (self.chat.legacy_functions and delta.index):
            return None
        if self.chat.legacy_functions:
            return {"function_call": {"arguments": delta.text}}
        return {"tool_calls": [{"index": delta.index, "function": {"arguments": delta.text}}]}

    def _logprobs(self, entries: Sequence[Logprobs]) -> dict[str, Any]:
        n_top = self.chat.logprobs or 0
        return {"content": [chat_item(entry, n_top) for entry in entries], "refusal": None}
