"""Hermes 2 and 3, Qwen 2.5 and 3, QwQ, MiMo, SmolLM3 ..: <tool_call>{"name": .., "arguments": ..}</tool_call>."""

from llama.chat.bodies.jsonbody import JsonBody
from llama.chat.format import ChatFormat, Markers

FORMAT = ChatFormat(
    name="hermes",
    recognise=lambda template: "<tool_call>" in template,
    markers=Markers(begin="<tool_call>\n", end="\n</tool_call>", between="\n"),
    body=JsonBody(),
)
