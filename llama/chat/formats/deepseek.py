"""DeepSeek: R1 and V3 (name, then a JSON code block), V3.1 (name, then JSON), V3.2 and V4 (tags for each argument)."""

from dataclasses import replace

from llama.chat.bodies.head import HeadBody
from llama.chat.bodies.tagged import TaggedBody
from llama.chat.format import ChatFormat, Markers

SECTION = Markers(
    section_begin="<｜tool▁calls▁begin｜>",
    begin="<｜tool▁call▁begin｜>",
    end="<｜tool▁call▁end｜>",
    section_end="<｜tool▁calls▁end｜>",
)
R1 = ChatFormat(
    name="deepseek-r1",
    recognise=lambda template: "<｜tool▁sep｜>" in template and "```json" in template,
    markers=replace(SECTION, between="\n"),
    body=HeadBody(
        head="function<｜tool▁sep｜>{name}\n```json\n",
        tail="\n```",
        others=("{name}<｜tool▁sep｜>", "{name}\n```json\n"),
    ),
    preserved=("<｜tool▁sep｜>",),
)
V3_1 = ChatFormat(
    name="deepseek-v3.1",
    recognise=lambda template: "<｜tool▁sep｜>" in template,
    markers=SECTION,
    body=HeadBody(
        head="{name}<｜tool▁sep｜>", others=("function<｜tool▁sep｜>{name}\n```json\n",), tail_optional="```"
    ),
    preserved=("<｜tool▁sep｜>",),
)
DSML = TaggedBody(
    head=r'{names}"\s*>',
    open=r'\s*<｜DSML｜parameter\s+name="(?P<key>[^"]*)"(?:\s+string="(?P<string>true|false)")?\s*>',
    close=r"</｜DSML｜parameter>",
    end=r"\s*</｜DSML｜invoke>",
    write_head='{name}">\n',
    write_open='<｜DSML｜parameter name="{key}" string="{string}">',
    write_close="</｜DSML｜parameter>\n",
    write_end="</｜DSML｜invoke>",
)
V3_2 = ChatFormat(
    name="deepseek-v3.2",
    recognise=lambda template: "｜DSML｜" in template and "function_calls" in template,
    markers=Markers(
        section_begin="<｜DSML｜function_calls>\n",
        begin='<｜DSML｜invoke name="',
        section_end="\n</｜DSML｜function_calls>",
        between="\n",
    ),
    body=DSML,
    preserved=("｜DSML｜",),
)
V4 = ChatFormat(
    name="deepseek-v4",
    recognise=lambda template: "｜DSML｜" in template,
    markers=Markers(
        section_begin="<｜DSML｜tool_calls>\n",
        begin='<｜DSML｜invoke name="',
        section_end="\n</｜DSML｜tool_calls>",
        between="\n",
    ),
    body=DSML,
    preserved=("｜DSML｜",),
)
