"""Which part of a prompt already belongs to the answer: an opened thought, an answer that is to be continued."""

import regex

from llama.chat.format import ChatFormat, Thought


def begun(format: ChatFormat, thought: Thought, generation_prompt: str, prefill: str = "") -> str:
    """The end of the generation prompt that is read as the answer's beginning.

    `prefill` is the text of an assistant's turn that stays open, if there is one.
    """
    if format.begun:
        match = regex.match(format.begun, generation_prompt, regex.DOTALL)
        return generation_prompt[match.end() :] if match else ""
    start = generation_prompt.find(thought.start)
    if start >= 0:
        return generation_prompt[start:]
    return prefill if prefill and generation_prompt.endswith(prefill) else ""
