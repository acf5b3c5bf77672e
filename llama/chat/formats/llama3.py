"""Llama 3.1, 3.2, 3.3: the whole answer is {"name": .., "parameters": ..}, without any marker."""

from llama.chat.bodies.jsonbody import JsonBody
from llama.chat.format import ChatFormat, Markers

FORMAT = ChatFormat(
    name="llama3",
    recognise=lambda template: '"parameters"' in template and "<|start_header_id|>" in template,
    markers=Markers(begin=""),
    body=JsonBody(arguments="parameters"),
    openers=(
        r'(?:<\|python_tag\|>\s*)?(?P<body>\{)\s*(?:"type"\s*:\s*"function"\s*,\s*)?'
        r'(?:"function"\s*:\s*\{\s*)?"name"\s*:\s*"{names}"',
    ),
    triggers=(r'^\s*(?:<\|python_tag\|>\s*)?(\{\s*"(?:type|name|function)"\s*:\s*")',),
    preserved=("<|python_tag|>",),
)
