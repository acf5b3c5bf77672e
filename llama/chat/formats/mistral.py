"""Mistral: [TOOL_CALLS] and then a JSON list (Nemo, Large), or name and arguments (Small 3.2, Devstral, Ministral)."""

from llama.chat.bodies.head import HeadBody
from llama.chat.bodies.jsonbody import JsonBody
from llama.chat.format import ChatFormat, Markers

SMALL = ChatFormat(
    name="mistral-small",
    recognise=lambda template: "[TOOL_CALLS]" in template and "[CALL_ID]" in template,
    markers=Markers(begin="[TOOL_CALLS]"),
    body=HeadBody(head="{name}[CALL_ID]{id}[ARGS]", id="{id}", others=("{name}[ARGS]",)),
    id_alphabet="alnum9",
    preserved=("[CALL_ID]", "[ARGS]"),
)
DEVSTRAL = ChatFormat(
    name="devstral",
    recognise=lambda template: "[TOOL_CALLS]" in template and "[ARGS]" in template,
    markers=Markers(begin="[TOOL_CALLS]"),
    body=HeadBody(head="{name}[ARGS]", id="{id}", others=("{name}[CALL_ID]{id}[ARGS]",)),
    id_alphabet="alnum9",
    preserved=("[CALL_ID]", "[ARGS]"),
)
NEMO = ChatFormat(
    name="mistral-nemo",
    recognise=lambda template: "[TOOL_CALLS]" in template,
    markers=Markers(begin="[TOOL_CALLS]"),
    body=JsonBody(id="id", id_form="alnum9", id_last=True, listed=True),
    id_alphabet="alnum9",
)
