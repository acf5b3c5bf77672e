"""FireFunction 2:  functools[{"name": .., "arguments": ..}]."""

from llama.chat.bodies.jsonbody import JsonBody
from llama.chat.format import ChatFormat, Markers

FORMAT = ChatFormat(
    name="firefunction",
    recognise=lambda template: "functools[" in template,
    markers=Markers(begin=" functools"),
    body=JsonBody(listed=True),
)
