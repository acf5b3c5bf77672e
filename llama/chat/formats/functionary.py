"""Functionary: 3.1 writes <function=f>{..}</function>; 3.2 writes turns split by >>>, the one named `all` is answer."""

from typing import TYPE_CHECKING

import regex

from llama.chat.bodies.head import HeadBody, arguments
from llama.chat.format import ChatFormat, Markers
from llama.chat.source import Reading

if TYPE_CHECKING:
    from llama.chat.reader import Reader
    from llama.chat.toolgrammar import Rules


def read(reader: "Reader") -> Reading[None]:
    """Read the turns; the prompt ends with the >>> of the first one."""
    names = "|".join(regex.escape(name) for name in ("all", *reader.options.tools))
    source = reader.source
    turn = yield from source.take(regex.compile(rf"(?P<name>{names})[ \t]*\n"))
    while True:
        if turn is not None and reader.knows(turn.group("name")):
            reader.calls.start(turn.group("name"))
            yield from arguments(reader)
        turn = yield from source.copy_until(regex.compile(rf">>>(?P<name>{names})[ \t]*\n"), reader.content.write)
        if turn is None:
            return


def grammar(rules: "Rules", many: bool) -> str:
    """One turn that calls a tool, or several."""
    calls = [f"{rules.text(name)} {rules.text(chr(10))} {rules.arguments(name)}" for name in rules.names]
    one = "(" + " | ".join(calls) + ")"
    return f'{one} (">>>" {one})*' if many else one


V3_2 = ChatFormat(
    name="functionary-3.2",
    recognise=lambda template: ">>>all" in template,
    markers=Markers(begin=">>>"),
    body=HeadBody(head="{name}\n"),
    read=read,
    grammar=grammar,
    answer=("all\n", ""),
    begun=r".*>>>(?=.)",
    triggers=(r"^({names})\n", r">>>({names})\n"),
)
V3_1 = ChatFormat(
    name="functionary-3.1",
    recognise=lambda template: "<function=" in template and "</function>" in template,
    markers=Markers(begin="<function=", end="</function>"),
    body=HeadBody(head="{name}>"),
)
