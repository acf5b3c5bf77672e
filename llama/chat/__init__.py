"""This package turns messages into a prompt, and the text a model writes back into a message.

It knows templates, tool-call formats and reasoning markers; it knows nothing of models, tokens or HTTP.
"""

from llama.chat.template import ChatTemplate

__all__ = ["ChatTemplate"]
