"""The templates known by name, as llama-server names them: our own files in the folder `templates`."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from llama.chat.normalise import normalised
from llama.chat.template import compiled
from llama.errors import SettingsError

FOLDER = Path(__file__).resolve().parents[2] / "templates"


@functools.cache
def builtin_names() -> tuple[str, ...]:
    """The names."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.jinja")))


def is_builtin(name: str) -> bool:
    """True if there is a template of this name."""
    return name in builtin_names()


@functools.cache
def builtin_text(name: str) -> str:
    """The template's text. Raises SettingsError."""
    if not is_builtin(name):
        raise SettingsError(f"there is no chat template {name!r}; there are: {', '.join(builtin_names())}")
    return (FOLDER / f"{name}.jinja").read_text(encoding="utf-8")


def render_builtin(name: str, messages: Sequence[Mapping[str, Any]], add_generation_prompt: bool = True) -> str:
    """The prompt that the template of this name makes, as llama-server does: what it does not know is left out."""
    template = compiled(builtin_text(name))
    takes = dataclasses.replace(template.abilities, system=True)
    return template.run(normalised(messages, takes), add_generation_prompt=add_generation_prompt)
