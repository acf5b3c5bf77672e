"""GigaChat 3: the turn of a role "function call" (3.0), or <|function_call|> (3.1), with one JSON object."""

from llama.chat.bodies.jsonbody import JsonBody
from llama.chat.format import ChatFormat, Markers

V3_1 = ChatFormat(
    name="gigachat-3.1",
    recognise=lambda template: "<|function_call|>" in template,
    markers=Markers(begin="<|function_call|>"),
    body=JsonBody(),
    drop=("<|message_sep|>",),
)
V3 = ChatFormat(
    name="gigachat-3",
    recognise=lambda template: "<|role_sep|>" in template and "function call" in template,
    markers=Markers(begin="<|message_sep|>\n\nfunction call<|role_sep|>\n"),
    body=JsonBody(),
    drop=("<|message_sep|>",),
)
