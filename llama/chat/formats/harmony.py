"""gpt-oss ("harmony"): messages with a channel each; analysis is thought, final is answer, a recipient makes a call."""

from typing import TYPE_CHECKING

import regex

from llama.chat.bodies.head import HeadBody, arguments
from llama.chat.format import ChatFormat, Markers, Thought
from llama.chat.jsontext import skip
from llama.chat.source import Reading

if TYPE_CHECKING:
    from llama.chat.reader import Reader
    from llama.chat.toolgrammar import Rules

ANALYSIS = "<|channel|>analysis<|message|>"
HEADER = regex.compile(
    r"\s*(?:<\|start\|>\s*assistant)?"
    r"(?P<head>(?:\s*to=[^\s<]+)?\s*(?:<\|channel\|>[^<]*(?:<\|constrain\|>[^<]*)?)+)<\|message\|>"
)
CHANNEL = regex.compile(r"<\|channel\|>\s*(\w+)")
RECIPIENT = regex.compile(r"to=([^\s<]+)")
END = regex.compile(r"<\|(?:end|call|return)\|>|(?P<body><\|(?:start|channel)\|>)")


def read(reader: "Reader") -> Reading[None]:
    """Read message after message."""
    source = reader.source
    while True:
        header = yield from source.take(HEADER)
        if header is not None:
            yield from message(reader, header.group("head"))
        elif source.closed and source.at >= len(source.text):
            return
        else:
            yield from stray(reader)


def stray(reader: "Reader") -> Reading[None]:
    """Text outside of any message is answer, its markers are not."""
    source = reader.source
    yield from source.peek()
    marker = yield from source.take(
        regex.compile(r"<\|(?:start|channel|message|end|call|return|constrain)\|>(?:assistant)?")
    )
    if marker is None:
        yield from source.copy_until(
            regex.compile(r"(?P<body><\|(?:start|channel|message|end|call|return)\|>)"), reader.content.write
        )


def message(reader: "Reader", head: str) -> Reading[None]:
    """Read one message behind its header."""
    recipient = (RECIPIENT.findall(head) or [""])[-1]
    channel = CHANNEL.findall(head)[-1]
    name = recipient.removeprefix("functions.")
    if recipient and reader.knows(name):
        reader.calls.start(name)
        yield from arguments(reader)
        yield from reader.source.copy_until(END, skip)
    elif recipient and recipient != "assistant" and not recipient.startswith("functions."):
        yield from reader.source.copy_until(END, skip)
    elif channel == "analysis":
        reader.open_thought(ANALYSIS)
        end = yield from reader.source.copy_until(END, reader.think)
        if end is not None:
            reader.close_thought("<|end|>")
    else:
        yield from reader.source.copy_until(END, reader.content.write)


def grammar(rules: "Rules", many: bool) -> str:
    """One call; this family writes one in a turn."""
    calls = [f"{rules.text('functions.' + name)} c_rest {rules.arguments(name)}" for name in rules.names]
    space, constrain = rules.text(" "), rules.text("<|constrain|>")
    channel = f'({rules.text("<|channel|>")} ("commentary" | "analysis"))?'
    rules.add("rest", f'{channel} ({space}? {constrain}? "json")? {rules.text("<|message|>")}')
    before = f'({rules.text("<|start|>assistant")})? {channel} " to="'
    return f"{before} ({' | '.join(calls)})"


FORMAT = ChatFormat(
    name="harmony",
    recognise=lambda template: "<|channel|>" in template and "<|message|>" in template,
    markers=Markers(begin="<|channel|>commentary to=functions."),
    body=HeadBody(head="{name}<|message|>"),
    thought=Thought(ANALYSIS, "<|end|>"),
    read=read,
    grammar=grammar,
    answer=("<|channel|>final<|message|>", ""),
    begun=r".*?(?=<\|channel\|>)",
    preserved=("<|start|>", "<|channel|>", "<|message|>", "<|constrain|>", "<|end|>", "<|call|>"),
    triggers=(
        r"^((?:<\|start\|>assistant)?(?:<\|channel\|>(?:commentary|analysis))? to=functions\.)",
        r"<\|end\|>(<\|start\|>assistant(?:<\|channel\|>(?:commentary|analysis))? to=functions\.)",
    ),
)
