"""MiniMax M2: <minimax:tool_call> with <invoke name=".."> and a <parameter name=".."> for each argument."""

from llama.chat.bodies.tagged import TaggedBody
from llama.chat.format import ChatFormat, Markers

FORMAT = ChatFormat(
    name="minimax-m2",
    recognise=lambda template: "<minimax:tool_call>" in template,
    markers=Markers(
        section_begin="<minimax:tool_call>\n",
        begin='<invoke name="',
        section_end="\n</minimax:tool_call>",
        between="\n",
    ),
    body=TaggedBody(
        head=r'{names}"\s*>',
        open=r'\s*<parameter\s+name="(?P<key>[^"]*)"\s*>',
        close=r"</parameter>",
        end=r"\s*</invoke>",
        write_head='{name}">\n',
        write_open='<parameter name="{key}">',
        write_close="</parameter>\n",
        write_end="</invoke>",
    ),
)
