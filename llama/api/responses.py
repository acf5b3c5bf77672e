"""/v1/responses: deltas become OpenAI's response items and their events."""

from collections.abc import Mapping, Sequence
from typing import Any

from llama.api.answer import Chunk, Job
from llama.api.call import ChatCall
from llama.api.chat_answer import ChatChoice, ParsedAnswer
from llama.api.head import new_id
from llama.api.sse import event as named_event
from llama.chat import ChatPlan, ContentDelta, Delta, ReasoningDelta, ToolCallArguments, ToolCallStart
from llama.engine.request import Finished, Token

ECHOED = ("instructions", "metadata", "temperature", "top_p", "max_output_tokens", "tool_choice", "tools", "reasoning")


class ResponsesAnswer(ParsedAnswer):
    """The answer to one call of /v1/responses. The last item of `_items` may be open; events carry running numbers."""

    def __init__(self, job: Job, chat: ChatCall, plan: ChatPlan, body: Mapping[str, Any]) -> None:
        super().__init__(job, chat, plan)
        self._asked = body
        self._items: list[dict[str, Any]] = []
        self._open = False
        self._number = -1

    def encode(self, chunk: Chunk) -> bytes:
        return named_event(chunk["type"], chunk)

    def ending(self) -> bytes:
        return b""

    def failure(self, error: dict[str, Any]) -> bytes:
        inner = error["error"]
        failed = self._response("failed") | {"error": {"code": inner["type"], "message": inner["message"]}}
        return named_event("response.failed", self._event("response.failed", response=failed))

    def opening(self) -> list[Chunk]:
        return [
            self._event("response.created", response=self._response("in_progress")),
            self._event("response.in_progress", response=self._response("in_progress")),
        ]

    def deltas(self, choice: ChatChoice, deltas: Sequence[Delta], event: Token | Finished) -> list[Chunk]:
        return [chunk for delta in deltas for chunk in self._delta(delta)]

    def end(self, choice: ChatChoice, event: Finished) -> list[Chunk]:
        return self._close()

    def closing(self) -> list[Chunk]:
        # clients' stream helpers wait for this event whatever the status in it is
        return [self._event("response.completed", response=self.body())]

    def body(self) -> dict[str, Any]:
        end = self.choices[0].end
        cut = end is None or end.reason == "limit"
        body = self._response("incomplete" if cut else "completed")
        if cut:
            body["incomplete_details"] = {"reason": "max_output_tokens"}
        usage = self.tally
        body["usage"] = {
            "input_tokens": sum(usage.prompts),
            "input_tokens_details": {"cached_tokens": usage.cached},
            "output_tokens": sum(usage.tokens.values()),
            "output_tokens_details": {"reasoning_tokens": usage.reasoning},
            "total_tokens": sum(usage.prompts) + sum(usage.tokens.values()),
        }
        return body

    def _response(self, status: str) -> dict[str, Any]:
        asked = {name: self._asked.get(name) for name in ECHOED}
        head = self.job.head
        return {
            **asked,
            "id": head.id,
            "object": "response",
            "created_at": head.created,
            "status": status,
            "model": head.model,
            "output": list(self._items),
            "error": None,
            "incomplete_details": None,
            "parallel_tool_calls": self._asked.get("parallel_tool_calls", True),
            "previous_response_id": None,
            "store": False,
            "tool_choice": asked["tool_choice"] or "auto",
            "tools": asked["tools"] or [],
            "metadata": asked["metadata"] or {},
            "text": self._asked.get("text") or {"format": {"type": "text"}},
            "truncation": "disabled",
            "usage": None,
        }

    def _event(self, kind: str, **fields: Any) -> Chunk:
        self._number += 1
        return {"type": kind, "sequence_number": self._number, **fields}

    def _delta(self, delta: Delta) -> list[Chunk]:
        if isinstance(delta, ContentDelta):
            return self._grow("message", "output_text", "response.output_text", delta.text)
        if isinstance(delta, ReasoningDelta):
            return self._grow("reasoning", "reasoning_text", "response.reasoning_text", delta.text)
        if isinstance(delta, ToolCallStart):
            return self._begin(
                {
                    "type": "function_call",
                    "id": new_id("fc_"),
                    "call_id": delta.id,
                    "name": delta.name,
                    "arguments": "",
                    "status": "in_progress",
                }
            )
        assert isinstance(delta, ToolCallArguments)
        item = self._items[-1]
        item["arguments"] += delta.text
        return [self._event("response.function_call_arguments.delta", **self._place(), delta=delta.text)]

    def _grow(self, kind: str, part_kind: str, event: str, text: str) -> list[Chunk]:
        chunks = [] if self._open and self._items[-1]["type"] == kind else self._begin_text(kind, part_kind)
        self._items[-1]["content"][0]["text"] += text
        extra: dict[str, Any] = {"logprobs": []} if kind == "message" else {}
        return [*chunks, self._event(f"{event}.delta", **self._place(0), delta=text, **extra)]

    def _begin_text(self, kind: str, part_kind: str) -> list[Chunk]:
        item: dict[str, Any] = {"type": kind, "status": "in_progress", "content": []}
        item |= (
            {"id": new_id("msg_"), "role": "assistant"} if kind == "message" else {"id": new_id("rs_"), "summary": []}
        )
        chunks = self._begin(item)
        part: dict[str, Any] = {"type": part_kind, "text": ""}
        if kind == "message":
            part["annotations"] = []
        item["content"].append(part)
        return [*chunks, self._event("response.content_part.added", **self._place(0), part=dict(part))]

    def _begin(self, item: dict[str, Any]) -> list[Chunk]:
        """Close what is open and begin an item."""
        chunks = self._close()
        self._items.append(item)
        self._open = True
        shown = {**item, "content": []} if "content" in item else dict(item)
        return [
            *chunks,
            self._event("response.output_item.added", output_index=len(self._items) - 1, item=shown),
        ]

    def _close(self) -> list[Chunk]:
        if not self._open:
            return []
        self._open = False
        item = self._items[-1]
        item["status"] = "completed"
        chunks = []
        if item["type"] == "function_call":
            done = {"arguments": item["arguments"], "name": item["name"]}
            chunks.append(self._event("response.function_call_arguments.done", **self._place(), **done))
        else:
            part = item["content"][0]
            name = "response.output_text.done" if item["type"] == "message" else "response.reasoning_text.done"
            extra: dict[str, Any] = {"logprobs": []} if item["type"] == "message" else {}
            chunks.append(self._event(name, **self._place(0), text=part["text"], **extra))
            chunks.append(self._event("response.content_part.done", **self._place(0), part=dict(part)))
        chunks.append(self._event("response.output_item.done", output_index=len(self._items) - 1, item=dict(item)))
        return chunks

    def _place(self, content_index: int | None = None) -> dict[str, Any]:
        place: dict[str, Any] = {"item_id": self._items[-1]["id"], "output_index": len(self._items) - 1}
        if content_index is not None:
            place["content_index"] = content_index
        return place
