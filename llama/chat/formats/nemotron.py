"""Nemotron Nano 2: <TOOLCALL>[{"name": .., "arguments": ..}]</TOOLCALL>."""

from llama.chat.bodies.jsonbody import JsonBody
from llama.chat.format import ChatFormat, Markers

FORMAT = ChatFormat(
    name="nemotron-v2",
    recognise=lambda template: "<TOOLCALL>" in template,
    markers=Markers(begin="<TOOLCALL>", end="</TOOLCALL>"),
    body=JsonBody(listed=True),
)
