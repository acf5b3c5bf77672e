"""MiniCPM 5: <function name="f"><param name="key">value</param></function>, values perhaps in CDATA."""

from llama.chat.bodies.tagged import TaggedBody
from llama.chat.format import ChatFormat, Markers

FORMAT = ChatFormat(
    name="minicpm5",
    recognise=lambda template: '<function name="' in template and '<param name="' in template,
    markers=Markers(begin='<function name="', between="\n"),
    body=TaggedBody(
        head=r'{names}"\s*>',
        open=r'\s*<param\s+name="(?P<key>[^"]*)"\s*>',
        close=r"</param>",
        end=r"\s*</function>",
        write_head='{name}">',
        write_open='<param name="{key}">',
        write_close="</param>",
        write_end="</function>",
        verbatim=("<![CDATA[", "]]>"),
    ),
)
