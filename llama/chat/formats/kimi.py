"""Kimi K2: a section of calls, each with its id functions.NAME:NUMBER before the arguments."""

from llama.chat.bodies.head import HeadBody
from llama.chat.format import ChatFormat, Markers

FORMAT = ChatFormat(
    name="kimi-k2",
    recognise=lambda template: "<|tool_calls_section_begin|>" in template,
    markers=Markers(
        section_begin="<|tool_calls_section_begin|>",
        begin="<|tool_call_begin|>",
        end="<|tool_call_end|>",
        section_end="<|tool_calls_section_end|>",
    ),
    body=HeadBody(
        head="functions.{name}:{index}<|tool_call_argument_begin|>",
        id="functions.{name}:{index}",
        others=("{name}:{index}<|tool_call_argument_begin|>", "functions.{name}<|tool_call_argument_begin|>"),
    ),
    preserved=("<|tool_call_argument_begin|>",),
)
