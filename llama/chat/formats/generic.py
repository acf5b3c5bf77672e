"""For templates that know no tools: these are described in a system text, and called as Hermes does."""

from llama.chat.bodies.jsonbody import JsonBody
from llama.chat.format import ChatFormat, Markers

FORMAT = ChatFormat(
    name="generic",
    recognise=lambda template: False,
    markers=Markers(begin="<tool_call>\n", end="\n</tool_call>", between="\n"),
    body=JsonBody(),
)
