"""Cohere: Command R7B (an action block with a JSON list), Command R+ ("Action:" and a JSON code block)."""

from llama.chat.bodies.jsonbody import JsonBody
from llama.chat.format import ChatFormat, Markers, Thought

R7B = ChatFormat(
    name="command-r7b",
    recognise=lambda template: "<|START_ACTION|>" in template,
    markers=Markers(begin="<|START_ACTION|>", end="<|END_ACTION|>"),
    body=JsonBody(name="tool_name", arguments="parameters", id="tool_call_id", id_form="index", listed=True),
    thought=Thought("<|START_THINKING|>", "<|END_THINKING|>"),
    answer=("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
    ends_thought=("<|START_RESPONSE|>", "<|START_TEXT|>", "<|START_ACTION|>"),
    drop=("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>", "<|END_OF_TURN_TOKEN|>"),
)
R_PLUS = ChatFormat(
    name="command-r-plus",
    recognise=lambda template: "Action:" in template and "<|CHATBOT_TOKEN|>" in template,
    markers=Markers(begin="Action:\n```json\n", end="\n```"),
    body=JsonBody(name="tool_name", arguments="parameters", listed=True),
    drop=("<|START_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>", "<|END_OF_TURN_TOKEN|>"),
)
