"""Liquid LFM 2: <|tool_call_start|>[f(a=1, b="x")]<|tool_call_end|>, with Python literals."""

from llama.chat.bodies.python import PythonBody
from llama.chat.format import ChatFormat, Markers

FORMAT = ChatFormat(
    name="lfm2",
    recognise=lambda template: "<|tool_call_start|>" in template or "<|tool_list_start|>" in template,
    markers=Markers(begin="<|tool_call_start|>", end="<|tool_call_end|>"),
    body=PythonBody(),
)
