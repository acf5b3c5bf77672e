"""GLM 4.5 to 4.7, Laguna, Ling: <tool_call>NAME and then <arg_key> and <arg_value> for each argument."""

from llama.chat.bodies.tagged import TaggedBody
from llama.chat.format import ChatFormat, Markers

FORMAT = ChatFormat(
    name="glm",
    recognise=lambda template: "<arg_key>" in template,
    markers=Markers(begin="<tool_call>", end="</tool_call>", between="\n"),
    body=TaggedBody(
        head=r"\s*{names}\s*(?P<body><arg_key>|</tool_call>)",
        open=r"\s*<arg_key>(?P<key>[^<]*)</arg_key>\s*<arg_value>",
        close=r"</arg_value>",
        end=r"\s*",
        write_head="{name}\n",
        write_open="<arg_key>{key}</arg_key>\n<arg_value>",
        write_close="</arg_value>\n",
    ),
)
