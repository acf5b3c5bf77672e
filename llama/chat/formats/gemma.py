"""Gemma 4: <|tool_call>call:f{key:<|"|>text<|"|>}<tool_call|>; thoughts in a channel. Gemma 2 and 3 know no tools."""

from llama.chat.bodies.quoted import QuotedBody
from llama.chat.format import ChatFormat, Markers, Thought

FORMAT = ChatFormat(
    name="gemma-4",
    recognise=lambda template: "<|tool_call>" in template,
    markers=Markers(begin="<|tool_call>", end="<tool_call|>"),
    body=QuotedBody(),
    thought=Thought("<|channel>thought", "<channel|>"),
    drop=("<|channel>thought\n<channel|>", "<|channel>", "<channel|>", "<|tool_response>"),
    preserved=('<|"|>', "<|channel>"),
)
