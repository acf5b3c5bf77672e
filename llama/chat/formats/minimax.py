"""MiniMax: M1 writes JSON objects in <tool_calls>, M2 a <parameter name=".."> for each argument, M3 nested elements."""

from llama.chat.bodies.jsonbody import JsonBody
from llama.chat.bodies.nested import NestedBody
from llama.chat.bodies.tagged import TaggedBody
from llama.chat.format import ChatFormat, Markers, Thought

M2 = ChatFormat(
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
M1 = ChatFormat(
    name="minimax-m1",
    recognise=lambda template: "<tool_calls>" in template and "<tool_call>" not in template,
    markers=Markers(begin="<tool_calls>\n", end="\n</tool_calls>"),
    body=JsonBody(lines=True),
)
SPACE = "]<]minimax[>["  # stands before every tag
M3 = ChatFormat(
    name="minimax-m3",
    recognise=lambda template: SPACE in template,
    markers=Markers(
        section_begin=f"{SPACE}<tool_call>\n",
        begin=f'{SPACE}<invoke name="',
        end=f"{SPACE}</invoke>",
        section_end=f"\n{SPACE}</tool_call>",
        between="\n",
    ),
    body=NestedBody(SPACE),
    thought=Thought("<mm:think>", "</mm:think>"),
    preserved=(SPACE,),
)
