"""Liquid LFM 2: <|tool_call_start|>[f(a=1, b="x")]<|tool_call_end|>, with Python literals."""

from llama.chat.bodies.python import PythonBody
from llama.chat.format import ChatFormat, Markers

SIGNS = ("<|tool_call_start|>", "<|tool_list_start|>", '"List of tools: ["')
FORMAT = ChatFormat(
    name="lfm2",
    recognise=lambda template: any(sign in template for sign in SIGNS),
    markers=Markers(begin="<|tool_call_start|>", end="<|tool_call_end|>"),
    body=PythonBody(),
)
