"""One row of the table of settings: its flags, its environment variable, its help, and how its text is read."""

import csv
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from llama.errors import SettingsError

TRUE = frozenset({"true", "1", "on", "enabled", "yes"})
FALSE = frozenset({"false", "0", "off", "disabled", "no"})

Reader = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Option:
    """What a field of the settings is called outside, and how its text becomes a value."""

    flags: tuple[str, ...]
    help: str
    read: Reader | None  # None: a switch, which takes no value on the command line
    env: str | None = None
    off: tuple[str, ...] = ()  # flags that switch a switch off
    append: bool = False  # given twice, the values add up
    shown: str = ""  # the default as the documentation shows it

    @property
    def name(self) -> str:
        """The longest flag: what messages call the setting."""
        return max(self.flags, key=len)


def integer(text: str) -> int:
    """The whole number that `text` writes."""
    try:
        return int(text)
    except ValueError:
        raise SettingsError(f"expected a whole number, got {text!r}") from None


def number(text: str) -> float:
    """The number that `text` writes."""
    try:
        return float(text)
    except ValueError:
        raise SettingsError(f"expected a number, got {text!r}") from None


def text(value: str) -> str:
    """`value` itself."""
    return value


def boolean(value: str) -> bool:
    """True or False from llama.cpp's words for them."""
    word = value.strip().lower()
    if word not in TRUE | FALSE:
        raise SettingsError(f"expected true or false, got {value!r}")
    return word in TRUE


def comma_list(value: str) -> tuple[str, ...]:
    """The parts of a comma-separated list; empty parts are dropped."""
    return tuple(part.strip() for part in value.split(",") if part.strip())


def scaled_files(value: str) -> tuple[tuple[str, float], ...]:
    """Comma-separated FILE or FILE:SCALE, as (file, scale), scale 1 where none is said. Quotes hold a comma."""
    found = []
    for item in next(csv.reader([value]), []):
        name, colon, scale = item.rpartition(":")
        try:
            file, factor = (name, float(scale)) if colon else (item, 1.0)
        except ValueError:  # the colon belongs to the name
            file, factor = item, 1.0
        if not file.strip() or not math.isfinite(factor):
            raise SettingsError(f"expected FILE or FILE:SCALE, got {item!r}")
        found.append((file, factor))
    return tuple(found)


def single(value: str) -> tuple[str, ...]:
    """A list of this one text, for options that are given several times."""
    return (value,)


def json_object(value: str) -> dict[str, object]:
    """The JSON object that `value` writes."""
    try:
        found = json.loads(value)
    except ValueError as error:
        raise SettingsError(f"expected a JSON object: {error}") from None
    if not isinstance(found, dict):
        raise SettingsError(f"expected a JSON object, got {value!r}")
    return found


def one_of(*words: str) -> Reader:
    """A reader that takes one of these words."""

    def read(value: str) -> str:
        if value not in words:
            raise SettingsError(f"expected one of {', '.join(words)}, got {value!r}")
        return value

    return read


def option(
    *flags: str,
    read: Reader,
    help: str,
    default: Any = None,
    env: str | None = None,
    append: bool = False,
    shown: str | None = None,
) -> Any:
    """A field of the settings that takes a value."""
    if shown is None:
        shown = "" if default in (None, (), "") else str(default)
    row = Option(flags, help, read, env, append=append, shown=shown)
    return field(default=default, metadata={"option": row})


def switch(
    *flags: str, help: str, default: bool | None = False, env: str | None = None, off: tuple[str, ...] = ()
) -> Any:
    """A field of the settings that is on or off; every long flag `--x` has its `--no-x`."""
    negative = tuple(f"--no-{flag[2:]}" for flag in flags if flag.startswith("--"))
    shown = {True: "on", False: "off", None: "auto"}[default]
    return field(default=default, metadata={"option": Option(flags, help, None, env, (*off, *negative), shown=shown)})
