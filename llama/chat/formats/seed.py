"""ByteDance Seed-OSS: as Qwen3-Coder, in <seed:tool_call>, without line breaks round the values."""

from llama.chat.bodies.tagged import TaggedBody
from llama.chat.format import ChatFormat, Markers, Thought

FORMAT = ChatFormat(
    name="seed-oss",
    recognise=lambda template: "<seed:tool_call>" in template,
    markers=Markers(
        section_begin="<seed:tool_call>\n",
        begin="<function=",
        section_end="\n</seed:tool_call>",
        between="\n",
        each=True,
    ),
    body=TaggedBody(
        head=r"{names}\s*>",
        open=r"\s*<parameter=(?P<key>[^>]+)>",
        close=r"</parameter>",
        end=r"\s*</function>",
        write_head="{name}>\n",
        write_open="<parameter={key}>",
        write_close="</parameter>\n",
        write_end="</function>",
    ),
    thought=Thought("<seed:think>", "</seed:think>"),
)
