"""Our package behind the functions that the shared checker of chat cases calls."""

from typing import Any

from llama.chat.template import compiled


def render(template: str, messages: Any, tools: Any, add_generation_prompt: bool, **kwargs: Any) -> str:
    """The prompt."""
    return compiled(template).render(messages, tools, add_generation_prompt=add_generation_prompt, **kwargs)
