"""Kimi: K2 writes a section of calls, each with its id functions.NAME:NUMBER; K3 has tags for every argument."""

from llama.chat.bodies.head import HeadBody
from llama.chat.bodies.tagged import TaggedBody
from llama.chat.format import ChatFormat, Markers, Thought

K2 = ChatFormat(
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
K3 = ChatFormat(
    name="kimi-k3",
    recognise=lambda template: "'<|open|>'" in template and "argument" in template,
    markers=Markers(
        section_begin="<|open|>tools<|sep|>",
        begin="<|open|>call",
        end="<|close|>call<|sep|>",
        section_end="<|close|>tools<|sep|>",
    ),
    body=TaggedBody(
        head=r'\s+tool="{names}"[^<]*<\|sep\|>',
        open=r'\s*<\|open\|>argument\s+key="(?P<key>[^"]*)"(?:\s+type="(?P<string>[^"]*)")?[^<]*<\|sep\|>',
        close=r"<\|close\|>argument<\|sep\|>",
        end=r"\s*",
        write_head=' tool="{name}" index="1"<|sep|>',
        write_open='<|open|>argument key="{key}" type="{kind}"<|sep|>',
        write_close="<|close|>argument<|sep|>",
    ),
    thought=Thought("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
    answer=("<|open|>response<|sep|>", "<|close|>response<|sep|>"),
    ends_thought=("<|open|>response<|sep|>", "<|open|>tools<|sep|>"),
    drop=("<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|close|>message<|sep|>", "<|end_of_msg|>"),
)
