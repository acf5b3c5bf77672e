"""Apertus: <|tools_prefix|>[{"NAME": {..}}]<|tools_suffix|>; thoughts between <|inner_prefix|> and <|inner_suffix|>."""

from llama.chat.bodies.keyed import KeyedBody
from llama.chat.format import ChatFormat, Markers, Thought

FORMAT = ChatFormat(
    name="apertus",
    recognise=lambda template: "<|tools_prefix|>" in template,
    markers=Markers(begin="<|tools_prefix|>", end="<|tools_suffix|>"),
    body=KeyedBody(),
    thought=Thought("<|inner_prefix|>", "<|inner_suffix|>"),
)
