"""/v1/messages: deltas become Anthropic's blocks."""

import json
from collections.abc import Sequence
from typing import Any

from llama.api.answer import Chunk
from llama.api.chat_answer import ChatChoice, ParsedAnswer
from llama.api.sse import event as named_event
from llama.chat import ContentDelta, Delta, ReasoningDelta, ToolCallArguments, ToolCallStart
from llama.engine.request import Finished, Token

ERROR_TYPES = {
    "unavailable_error": "overloaded_error",
    "server_error": "api_error",
    "exceed_context_size_error": "invalid_request_error",
}


class AnthropicAnswer(ParsedAnswer):
    """The answer to one call of /v1/messages. One block is open at a time; `_open` says of what kind."""

    _open: tuple[str, int] | None = None
    _count = 0
    _end: Finished | None = None

    def encode(self, chunk: Chunk) -> bytes:
        return named_event(chunk["type"], chunk)

    def ending(self) -> bytes:
        return b""

    def failure(self, error: dict[str, Any]) -> bytes:
        return named_event("error", anthropic_error(error))

    def opening(self) -> list[Chunk]:
        message = {**self._message([]), "stop_reason": None, "stop_sequence": None}
        return [{"type": "message_start", "message": message}]

    def deltas(self, choice: ChatChoice, deltas: Sequence[Delta], event: Token | Finished) -> list[Chunk]:
        return [chunk for delta in deltas for chunk in self._delta(delta)]

    def end(self, choice: ChatChoice, event: Finished) -> list[Chunk]:
        self._end = event
        return []

    def closing(self) -> list[Chunk]:
        if self._end is None:
            return []
        stop = {"stop_reason": self._stop_reason(), "stop_sequence": self._stop_sequence()}
        usage = {"output_tokens": self._end.n_tokens}
        return [
            *self._close(),
            {"type": "message_delta", "delta": stop, "usage": usage},
            {"type": "message_stop"},
        ]

    def body(self) -> dict[str, Any]:
        message = self.choices[0].message
        blocks: list[dict[str, Any]] = []
        if message.get("reasoning_content"):
            blocks.append({"type": "thinking", "thinking": message["reasoning_content"], "signature": ""})
        if message.get("content") or not message.get("tool_calls"):
            blocks.append({"type": "text", "text": message.get("content") or ""})
        for call in message.get("tool_calls", ()):
            function = call["function"]
            blocks.append(
                {
                    "type": "tool_use",
                    "id": call["id"],
                    "name": function["name"],
                    "input": _arguments(function["arguments"]),
                }
            )
        return self._message(blocks) | {"stop_reason": self._stop_reason(), "stop_sequence": self._stop_sequence()}

    def _message(self, blocks: list[dict[str, Any]]) -> dict[str, Any]:
        cached = self.tally.cached
        return {
            "id": self.job.head.id,
            "type": "message",
            "role": "assistant",
            "content": blocks,
            "model": self.job.head.model,
            "usage": {
                "input_tokens": sum(self.tally.prompts) - cached,
                "cache_read_input_tokens": cached,
                "cache_creation_input_tokens": 0,
                "output_tokens": sum(self.tally.tokens.values()),
            },
        }

    def _delta(self, delta: Delta) -> list[Chunk]:
        if isinstance(delta, ContentDelta):
            start = {"type": "text", "text": ""}
            return [*self._enter(("text", 0), start), self._block_delta("text_delta", "text", delta.text)]
        if isinstance(delta, ReasoningDelta):
            start = {"type": "thinking", "thinking": "", "signature": ""}
            return [*self._enter(("thinking", 0), start), self._block_delta("thinking_delta", "thinking", delta.text)]
        if isinstance(delta, ToolCallStart):
            call: dict[str, Any] = {"type": "tool_use", "id": delta.id, "name": delta.name, "input": {}}
            return self._enter(("tool_use", delta.index), call)
        assert isinstance(delta, ToolCallArguments)
        return [self._block_delta("input_json_delta", "partial_json", delta.text)]

    def _enter(self, block: tuple[str, int], start: dict[str, Any]) -> list[Chunk]:
        """Be inside this block: close another one, open this one."""
        if self._open == block:
            return []
        chunks = self._close()
        self._open = block
        return [*chunks, {"type": "content_block_start", "index": self._count, "content_block": start}]

    def _close(self) -> list[Chunk]:
        if self._open is None:
            return []
        chunks: list[Chunk] = []
        if self._open[0] == "thinking":
            chunks.append(self._block_delta("signature_delta", "signature", ""))
        chunks.append({"type": "content_block_stop", "index": self._count})
        self._open = None
        self._count += 1
        return chunks

    def _block_delta(self, kind: str, field: str, text: str) -> Chunk:
        return {"type": "content_block_delta", "index": self._count, "delta": {"type": kind, field: text}}

    def _stop_reason(self) -> str:
        end = self.choices[0].end
        if end is None or end.reason == "limit":
            return "max_tokens"
        if self.choices[0].called:
            return "tool_use"
        return "stop_sequence" if self._stop_sequence() is not None else "end_turn"

    def _stop_sequence(self) -> str | None:
        """The stop text, if the caller named it: those of the template are not his business."""
        end = self.choices[0].end
        word = end.stopping_word if end is not None and end.reason == "word" else None
        return word if word in self.chat.call.stop else None


def _arguments(text: str) -> dict[str, Any]:
    """The input of a call; half an object, cut by a limit, is none."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def anthropic_error(error: dict[str, Any]) -> dict[str, Any]:
    """An error body in Anthropic's form, with our own fields kept."""
    inner = error["error"]
    return {"type": "error", "error": {**inner, "type": ERROR_TYPES.get(inner["type"], inner["type"])}}
