"""This package turns messages into a prompt, and the text a model writes back into a message.

It knows templates, tool-call formats and reasoning markers; it knows nothing of models, tokens or HTTP.
"""

from llama.chat.builtin import builtin_names, render_builtin
from llama.chat.deltas import ContentDelta, Delta, ReasoningDelta, ToolCallArguments, ToolCallStart
from llama.chat.parser import MessageParser
from llama.chat.plan import ChatPlan
from llama.chat.prepare import prepare
from llama.chat.template import ChatTemplate
from llama.chat.templates import Templates, load_templates

__all__ = [
    "ChatPlan",
    "ChatTemplate",
    "ContentDelta",
    "Delta",
    "MessageParser",
    "ReasoningDelta",
    "Templates",
    "ToolCallArguments",
    "ToolCallStart",
    "builtin_names",
    "load_templates",
    "prepare",
    "render_builtin",
]
