"""Muse: messages with a recipient each: self is thought, user is answer, a tool makes a call in <atem:..> tags."""

from typing import TYPE_CHECKING

import regex

from llama.chat.bodies.tagged import TaggedBody
from llama.chat.format import ChatFormat, Markers, Thought
from llama.chat.jsontext import skip
from llama.chat.source import Reading

if TYPE_CHECKING:
    from llama.chat.reader import Reader
    from llama.chat.toolgrammar import Rules

HEADER = regex.compile(r"\s*(?:<\|start\|>assistant)?\s*to=(?P<recipient>[^\s<]+)<\|message\|>")
END = regex.compile(r"<\|(?:eom|eot)\|>|(?P<body><\|start\|>)")
START = regex.compile(r"<\|start\|>(?:assistant)?")
CALL = regex.compile(r'\s*<atem:function_calls>\s*<atem:invoke name="')
BODY = TaggedBody(
    head=r'{names}"\s*>',
    open=r'\s*<atem:parameter\s+name="(?P<key>[^"]*)"\s*>',
    close=r"</atem:parameter>",
    end=r"\s*</atem:invoke>",
    write_head='{name}">\n',
    write_open='<atem:parameter name="{key}">',
    write_close="</atem:parameter>\n",
    write_end="</atem:invoke>",
)


def read(reader: "Reader") -> Reading[None]:
    """Read message after message."""
    source = reader.source
    while True:
        header = yield from source.take(HEADER)
        if header is None:
            yield from source.take(START)
        recipient = header.group("recipient") if header else "user"
        if header is None and source.closed and source.at >= len(source.text):
            return
        if recipient == "self":
            reader.open_thought(header.group() if header else "")
            end = yield from source.copy_until(END, reader.think)
            reader.close_thought(end.group() if end else "")
        elif reader.knows(recipient) and (yield from source.take(CALL)) and (yield from BODY.read(reader)):
            yield from source.copy_until(END, skip)
        else:
            yield from source.copy_until(END, reader.content.write)


def grammar(rules: "Rules", many: bool) -> str:
    """One message that calls a tool, or several."""
    ways = []
    for name in rules.names:
        head = rules.text(f' to={name}<|message|><atem:function_calls>\n<atem:invoke name="')
        ways.append(f"{head} {BODY.rule(rules, name)} {rules.text(chr(10) + '</atem:function_calls>')}")
    one = "(" + " | ".join(ways) + ")"
    start, between = rules.text("<|start|>assistant"), rules.text("<|eom|><|start|>assistant")
    return f"({start})? {one} ({between} {one})*" if many else f"({start})? {one}"


FORMAT = ChatFormat(
    name="muse",
    recognise=lambda template: "<atem:function_calls>" in template,
    markers=Markers(begin=" to="),
    body=BODY,
    thought=Thought(" to=self<|message|>", "<|eom|>"),
    read=read,
    grammar=grammar,
    answer=(" to=user<|message|>", ""),
    begun=r".*?(?= to=)",
    preserved=("<|start|>", "<|message|>", "<|eom|>", "<|eot|>"),
    triggers=(r"((?:<\|start\|>assistant)? to=(?:{names})<\|message\|>)",),
)
