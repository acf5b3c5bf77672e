"""Apriel: <tool_calls>[{"name": .., "arguments": ..}]</tool_calls>; 1.6 ends thoughts with [BEGIN FINAL RESPONSE]."""

from llama.chat.bodies.jsonbody import JsonBody
from llama.chat.format import ChatFormat, Markers

FORMAT = ChatFormat(
    name="apriel",
    recognise=lambda template: "<tool_calls>[" in template,
    markers=Markers(begin="<tool_calls>", end="</tool_calls>"),
    body=JsonBody(listed=True),
)
