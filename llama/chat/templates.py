"""The chat templates of a model: its own, another one for tools, or one that the user chose."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from llama.chat.builtin import builtin_text, is_builtin
from llama.chat.template import ChatTemplate, compiled
from llama.errors import SettingsError, TemplateError

DEFAULT = "chatml"


class ChatVocab(Protocol):
    """What is asked of a vocabulary."""

    @property
    def bos(self) -> int | None: ...
    @property
    def eos(self) -> int | None: ...
    @property
    def add_bos(self) -> bool: ...
    @property
    def add_eos(self) -> bool: ...
    def text(self, token: int, /) -> str: ...
    def token_id(self, text: str, /) -> int | None: ...
    def is_control(self, token: int, /) -> bool: ...


class ChosenTemplate(Protocol):
    """The settings that choose a template."""

    @property
    def chat_template(self) -> str | None: ...
    @property
    def chat_template_file(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Templates:
    """The templates to choose from, and what of a prompt the tokenizer adds by itself."""

    default: ChatTemplate
    tool_use: ChatTemplate | None = None
    add_bos: bool = False
    add_eos: bool = False
    control: Callable[[str], int | None] = lambda text: None  # id of a control token, by its text
    stops: tuple[str, ...] = ()
    warning: str = ""

    @property
    def source(self) -> str:
        """The text of the template for plain chat."""
        return self.default.text

    @property
    def tool_source(self) -> str | None:
        """The text of the template for tools, if it is another one."""
        return None if self.tool_use is None else self.tool_use.text

    def choose(self, tools: bool) -> ChatTemplate:
        """The template for a conversation with or without tools."""
        return self.tool_use if tools and self.tool_use is not None else self.default

    def trimmed(self, prompt: str) -> str:
        """The prompt without the begin and end tokens that the tokenizer will add."""
        bos, eos = self.default.bos_token, self.default.eos_token
        if self.add_bos and bos:
            prompt = prompt.removeprefix(bos)
        if self.add_eos and eos:
            prompt = prompt.removesuffix(eos)
        return prompt


def load_templates(settings: ChosenTemplate, metadata: Mapping[str, Any], vocab: ChatVocab) -> Templates:
    """The templates that the settings choose, or else the model's. Raises SettingsError, TemplateError."""
    bos, eos = token_text(vocab, vocab.bos), token_text(vocab, vocab.eos)
    chosen = chosen_text(settings)
    own = metadata.get("tokenizer.chat_template")
    for_tools = metadata.get("tokenizer.chat_template.tool_use") if chosen is None else None
    text = chosen or (own if isinstance(own, str) and own.strip() not in ("", DEFAULT) else None)
    if text is None and isinstance(for_tools, str):
        text = for_tools
    stops = () if text is not None else missing_end(vocab)
    try:
        default = compiled(text if text is not None else builtin_text(DEFAULT), bos, eos)
        tool_use = compiled(for_tools, bos, eos) if isinstance(for_tools, str) and for_tools != text else None
        for template in filter(None, (default, tool_use)):
            _ = template.abilities  # one that eats time or memory is found now, not by the first user
        warning = ""
    except TemplateError as error:
        if chosen is not None:
            raise SettingsError(f"--chat-template: {error}") from error
        default, tool_use, stops = compiled(builtin_text(DEFAULT), bos, eos), None, missing_end(vocab)
        warning = f"the model's own chat template is not used, ChatML is: {error}"
    return Templates(default, tool_use, vocab.add_bos, vocab.add_eos, control_of(vocab), stops, warning)


def chosen_text(settings: ChosenTemplate) -> str | None:
    """The template that the user chose: a file, a name, or its text."""
    if settings.chat_template_file:
        try:
            return Path(settings.chat_template_file).expanduser().read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"--chat-template-file: {error}") from error
    name = settings.chat_template
    if not name:
        return None
    if is_builtin(name):
        return builtin_text(name)
    if "{" not in name:
        raise SettingsError(f"--chat-template: {name!r} is neither the name of a known template nor a Jinja text")
    return name


def token_text(vocab: ChatVocab, token: int | None) -> str:
    """The text of a special token."""
    return "" if token is None else vocab.text(token)


def control_of(vocab: ChatVocab) -> Callable[[str], int | None]:
    """A function that finds control tokens by their text."""

    def control(text: str) -> int | None:
        token = vocab.token_id(text)
        return token if token is not None and vocab.is_control(token) else None

    return control


def missing_end(vocab: ChatVocab) -> tuple[str, ...]:
    """ChatML's end of a turn, as a stop string, for vocabularies that have no such token."""
    return () if vocab.token_id("<|im_end|>") is not None else ("<|im_end|>",)
