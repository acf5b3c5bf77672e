"""Settings of chat: template, reasoning, default stop strings."""

from collections.abc import Mapping
from dataclasses import dataclass

from llama.settings.option import integer, json_object, one_of, option, single, switch, text


@dataclass(frozen=True, kw_only=True)
class ChatSettings:
    """How messages become a prompt, and how the output is taken apart."""

    jinja: bool = switch(
        "--jinja", default=True, env="LLAMA_ARG_JINJA", help="templates are Jinja; they always are here"
    )
    chat_template: str | None = option(
        "--chat-template",
        read=text,
        env="LLAMA_ARG_CHAT_TEMPLATE",
        help="name of a known template, or the text of one",
        shown="model",
    )
    chat_template_file: str | None = option(
        "--chat-template-file", read=text, env="LLAMA_ARG_CHAT_TEMPLATE_FILE", help="file with the template"
    )
    chat_template_kwargs: Mapping[str, object] | None = option(
        "--chat-template-kwargs",
        read=json_object,
        env="LLAMA_ARG_CHAT_TEMPLATE_KWARGS",
        help="JSON object of variables for the template",
        shown="{}",
    )
    skip_chat_parsing: bool = switch(
        "--skip-chat-parsing", env="LLAMA_ARG_SKIP_CHAT_PARSING", help="put all output into content as it is"
    )
    prefill_assistant: bool = switch(
        "--prefill-assistant",
        default=True,
        env="LLAMA_ARG_PREFILL_ASSISTANT",
        help="continue the last message if it is the assistant's",
    )
    reasoning_format: str = option(
        "--reasoning-format",
        read=one_of("none", "auto", "deepseek", "deepseek-legacy"),
        default="auto",
        env="LLAMA_ARG_THINK",
        help="where thoughts go: none, auto, deepseek, deepseek-legacy",
    )
    reasoning: str = option(
        "-rea",
        "--reasoning",
        read=one_of("on", "off", "auto"),
        default="auto",
        env="LLAMA_ARG_REASONING",
        help="whether the model may think: on, off, or as the template has it",
    )
    reasoning_effort: str | None = option(
        "--reasoning-effort",
        read=text,
        env="LLAMA_ARG_REASONING_EFFORT",
        help="how much to think, for templates that know it; none switches thinking off",
    )
    reasoning_budget: int = option(
        "--reasoning-budget",
        read=integer,
        default=-1,
        env="LLAMA_ARG_THINK_BUDGET",
        help="tokens a thought may have; -1 = no limit, 0 = none",
    )
    reasoning_budget_message: str = option(
        "--reasoning-budget-message",
        read=text,
        default="",
        env="LLAMA_ARG_THINK_BUDGET_MESSAGE",
        help="text put before the end of a thought that was cut",
    )
    reverse_prompt: tuple[str, ...] = option(
        "-r", "--reverse-prompt", read=single, default=(), append=True, help="stop at this text unless the request says"
    )
