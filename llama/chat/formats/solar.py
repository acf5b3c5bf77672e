"""Upstage Solar Open: parts of a turn named by tokens; calls have an id, a name and JSON arguments."""

from llama.chat.bodies.head import HeadBody
from llama.chat.format import ChatFormat, Markers, Thought

FORMAT = ChatFormat(
    name="solar-open",
    recognise=lambda template: "<|tool_call:begin|>" in template,
    markers=Markers(
        section_begin="<|tool_calls|>",
        begin="<|tool_call:begin|>",
        end="<|tool_call:end|>",
        section_end="<|calls|>",
    ),
    body=HeadBody(head="{id}<|tool_call:name|>{name}<|tool_call:args|>", id="{id}", id_form="any"),
    thought=Thought("<|think|>", "<|end|>"),
    answer=("<|content|>", ""),
    drop=("<|begin|>assistant", "<|content|>", "<|end|>", "<|calls|>"),
    preserved=("<|tool_call:name|>", "<|tool_call:args|>"),
)
