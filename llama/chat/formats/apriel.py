"""Apriel: <tool_calls>[{"name": .., "arguments": ..}]</tool_calls>; 1.6 ends thoughts with [BEGIN FINAL RESPONSE]."""

from llama.chat.bodies.jsonbody import JsonBody
from llama.chat.format import ChatFormat, Markers, Thought

V1_5 = ChatFormat(
    name="apriel",
    recognise=lambda template: "<tool_calls>[" in template,
    markers=Markers(begin="<tool_calls>", end="</tool_calls>"),
    body=JsonBody(listed=True),
)
V1_6 = ChatFormat(
    name="apriel-1.6",
    recognise=lambda template: "<|begin_assistant|>" in template and "[BEGIN FINAL RESPONSE]" in template,
    markers=V1_5.markers,
    body=V1_5.body,
    thought=Thought("", "[BEGIN FINAL RESPONSE]"),
    begun=r".*<\|begin_assistant\|>",
    drop=("<|end|>",),
)
