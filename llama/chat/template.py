"""A chat template: Jinja text from a model file, rendered as Hugging Face renders it, in a sandbox with limits."""

import datetime
import functools
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import jinja2

from llama.chat.abilities import Abilities, call, calling, probe
from llama.chat.meter import metered
from llama.chat.normalise import copied, normalised
from llama.chat.prefill import continued
from llama.chat.sandbox import TemplateEnvironment
from llama.errors import TemplateError

ENVIRONMENT = TemplateEnvironment()
OLD_NAMES = "functools["
MAX_OUTPUT = 64_000_000  # characters of a prompt
REPR = re.compile(r"<(?:class|function|module|bound|built-in|generator|jinja2)[^>]*>")
BROKEN = (
    jinja2.TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,  # RecursionError is one
    SyntaxError,
    TypeError,
    ValueError,
)
Message = Mapping[str, Any]


class Refusal(jinja2.TemplateError):
    """The template called raise_exception; the message is its own sentence."""


def raise_exception(message: Any) -> None:
    """What templates call to refuse a conversation."""
    raise Refusal(str(message))


class ChatTemplate:
    """A compiled template. Raises TemplateError when the text is not one."""

    def __init__(self, text: str, bos_token: str = "", eos_token: str = "") -> None:
        self.text = text
        self.bos_token = bos_token
        self.eos_token = eos_token
        try:
            with metered():
                self._compiled = ENVIRONMENT.from_string(text)
        except BROKEN as error:
            raise TemplateError(f"the chat template cannot be used: {sentence(error)}", "chat_template") from error

    @functools.cached_property
    def abilities(self) -> Abilities:
        """What the template can do, found once by rendering small conversations."""
        return probe(self.run)

    @functools.cached_property
    def example_call(self) -> str:
        """How the template writes a call of NAME with an ARGUMENT; nothing if it knows no calls."""
        user, turn = calling("", call({"ARGUMENT": "VALUE"}, "NAME"))
        try:
            opened = self.render([user])
            full = self.render([user, turn], add_generation_prompt=False)
            plain = self.render([user, {"role": "assistant", "content": "VALUE"}], add_generation_prompt=False)
        except TemplateError:
            return ""
        start = next((i for i, (a, b) in enumerate(zip(opened, full, strict=False)) if a != b), len(opened))
        return full[start:].removesuffix(plain[plain.rfind("VALUE") + len("VALUE") :]).strip()

    def run(self, messages: Sequence[Message], *, now: datetime.datetime | None = None, **variables: Any) -> str:
        """The template's text for exactly these messages and variables. Raises TemplateError."""

        def strftime_now(format: str) -> str:
            return (now or datetime.datetime.now()).strftime(str(format)[:1000])

        values = {"bos_token": self.bos_token, "eos_token": self.eos_token, **variables, "messages": messages}
        if (
            OLD_NAMES in self.text
        ):  # FireFunction's template asks for its tools, as text, and the date by names of its own
            values.setdefault("functions", json.dumps(variables.get("tools") or [], indent=2, ensure_ascii=False))
            values.setdefault("datetime", (now or datetime.datetime.now()).strftime("%b %d %Y"))
        context = {"raise_exception": raise_exception, "strftime_now": strftime_now, **values}
        try:
            with metered():
                return self._collect(context)
        except Refusal as error:
            raise TemplateError(str(error), "messages") from error
        except BROKEN as error:
            raise TemplateError(f"the chat template failed: {sentence(error)}", "messages") from error

    def _collect(self, context: dict[str, Any]) -> str:
        pieces, length = [], 0
        for piece in self._compiled.root_render_func(self._compiled.new_context(context)):
            pieces.append(piece)
            length += len(piece)
            if length > MAX_OUTPUT:
                raise jinja2.TemplateRuntimeError("the prompt is too long")
        return "".join(pieces)

    def render(
        self,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, Any]] | None = None,
        *,
        add_generation_prompt: bool = True,
        continue_final_message: bool = False,
        now: datetime.datetime | None = None,
        **kwargs: Any,
    ) -> str:
        """The prompt for messages and tools as an OpenAI client sends them, which are not changed.

        With `continue_final_message` the last assistant turn stays open. `kwargs` are variables of the template.
        Raises TemplateError when the template refuses the conversation or breaks on it.
        """
        variables = dict(kwargs, now=now) if now else dict(kwargs)
        if tools:
            variables["tools"] = copied(tools)
        ready = normalised(messages, self.abilities)
        if continue_final_message and ready:
            return continued(self.run, ready, variables)
        return self.run(ready, add_generation_prompt=add_generation_prompt, **variables)


def sentence(error: BaseException) -> str:
    """What went wrong, in one line, without a look at our insides."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    text = str(error).splitlines()[0][:300] if str(error) else type(error).__name__
    line = getattr(error, "lineno", None)
    return REPR.sub("object", text) + (f" (line {line})" if isinstance(line, int) else "")


@functools.lru_cache(maxsize=64)
def compiled(text: str, bos_token: str = "", eos_token: str = "") -> ChatTemplate:
    """The template of this text, compiled and probed at most once."""
    return ChatTemplate(text, bos_token, eos_token)
