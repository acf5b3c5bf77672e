"""IBM Granite: 3.x writes <|tool_call|> and a JSON list, the answer perhaps in <response>; 4 writes as Hermes does."""

from llama.chat.bodies.jsonbody import JsonBody
from llama.chat.format import ChatFormat, Markers

V3 = ChatFormat(
    name="granite-3",
    recognise=lambda template: "<|tool_call|>" in template,
    markers=Markers(begin="<|tool_call|>", end="<|/tool_call|>"),
    body=JsonBody(listed=True),
    drop=("<response>", "</response>"),
)
V4_1 = ChatFormat(
    name="granite-4",
    recognise=lambda template: "<|start_of_role|>" in template and "<tool_call>" in template,
    markers=Markers(begin="<tool_call>\n", end="\n</tool_call>", between="\n"),
    body=JsonBody(),
    openers=(r"<\|tool_call\|>",),
    preserved=("<|tool_call|>",),
)
