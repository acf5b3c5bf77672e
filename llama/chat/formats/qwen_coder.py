"""Qwen3-Coder, Qwen3.5, Nemotron 3, StepFun: <function=NAME> with a <parameter=KEY> for each argument.

These models leave out the outer <tool_call> now and then, and start a call without ending their thought.
"""

from llama.chat.bodies.tagged import TaggedBody
from llama.chat.format import ChatFormat, Markers

FORMAT = ChatFormat(
    name="qwen3-coder",
    recognise=lambda template: "<function=" in template and "<parameter=" in template,
    markers=Markers(
        section_begin="<tool_call>\n",
        begin="<function=",
        section_end="\n</tool_call>",
        between="\n",
        each=True,
    ),
    body=TaggedBody(
        head=r"{names}\s*>",
        open=r"\s*<parameter=(?P<key>[^>]+)>\n?",
        close=r"\n?</parameter>",
        end=r"\s*</function>",
        write_head="{name}>\n",
        write_open="<parameter={key}>\n",
        write_close="\n</parameter>\n",
        write_end="</function>",
    ),
    call_ends_thought=True,
)
