"""Tencent Hunyuan 3: as GLM, with a <tool_sep> behind the name; tags may have a suffix: <tool_call:opensource>."""

from llama.chat.bodies.tagged import TaggedBody
from llama.chat.format import ChatFormat, Markers, Thought

FORMAT = ChatFormat(
    name="hunyuan-3",
    recognise=lambda template: "<tool_sep" in template and "<arg_key" in template,
    markers=Markers(
        section_begin="<tool_calls:opensource>\n",
        begin="<tool_call:opensource>",
        end="</tool_call:opensource>",
        section_end="\n</tool_calls:opensource>",
        between="\n",
    ),
    body=TaggedBody(
        head=r"\s*{names}\s*<tool_sep[^>]*>",
        open=r"\s*<arg_key[^>]*>(?P<key>[^<]*)</arg_key[^>]*>\s*<arg_value[^>]*>",
        close=r"</arg_value[^>]*>",
        end=r"\s*",
        write_head="{name}<tool_sep:opensource>\n",
        write_open="<arg_key:opensource>{key}</arg_key:opensource>\n<arg_value:opensource>",
        write_close="</arg_value:opensource>\n",
    ),
    openers=(r"(?:<tool_calls>\s*)?<tool_call>",),
    thought=Thought("<think:opensource>", "</think:opensource>"),
)
