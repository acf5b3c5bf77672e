"""Turns a command line and an environment into settings; a flag beats the variable."""

import difflib
import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path

from llama.errors import SettingsError
from llama.folder import FOLDER
from llama.settings.inapplicable import IGNORED, REFUSED, Inapplicable
from llama.settings.option import Option, boolean
from llama.settings.settings import Settings

log = logging.getLogger(__name__)


def options() -> dict[str, Option]:
    """Every row of the table by the name of its field, in order."""
    return {row.name: row.metadata["option"] for row in fields(Settings)}


def read_settings(arguments: Sequence[str] | None = None, environment: Mapping[str, str] | None = None) -> Settings:
    """The settings that `arguments` (the process's own if None) and `environment` ask for. Raises SettingsError."""
    arguments = sys.argv[1:] if arguments is None else arguments
    environment = os.environ if environment is None else environment
    values: dict[str, object] = {"cache_dir": _cache_dir(environment)}
    values |= _from_environment(environment)
    values.update(_from_arguments(arguments))
    return Settings(**values)  # type: ignore[arg-type]  # each reader makes its field's type


def _cache_dir(environment: Mapping[str, str]) -> str | None:
    """Our folder below the one that the platform's variable names, if it does."""
    parent = environment.get("XDG_CACHE_HOME") or environment.get("LOCALAPPDATA")
    return str(Path(parent) / FOLDER) if parent else None


def _from_environment(environment: Mapping[str, str]) -> dict[str, object]:
    values: dict[str, object] = {}
    for name, row in options().items():
        if row.env is None:
            continue
        negative = row.env.replace("LLAMA_ARG_", "LLAMA_ARG_NO_", 1)
        if row.read is None and negative != row.env and negative in environment:
            values[name] = False
        elif row.env in environment:
            values[name] = _read(row, environment[row.env], row.env)
    for ignored in IGNORED:
        if ignored.env is not None and ignored.env in environment:
            log.warning("%s has no effect: %s", ignored.env, ignored.reason)
    for refused in REFUSED:
        if refused.env is not None and refused.env in environment:
            raise SettingsError(f"{refused.env}: {refused.reason}")
    return values


def _from_arguments(arguments: Sequence[str]) -> dict[str, object]:
    on, off, ignored, refused = _by_flag()
    values: dict[str, object] = {}
    rest = _Arguments(arguments)
    for flag in rest:
        if flag in on:
            name, row = on[flag]
            value = True if row.read is None else _read(row, rest.value(flag), flag)
            both = row.append and name in values
            values[name] = (*values[name], *value) if both else value  # type: ignore[misc]  # lists of texts
        elif flag in off:
            values[off[flag]] = False
        elif flag in ignored:
            _skip(ignored[flag], flag, rest)
        elif flag in refused:
            raise SettingsError(f"{flag}: {refused[flag].reason}")
        else:
            raise _unknown(flag, [*on, *off, *ignored])
    return values


class _Arguments:
    """A command line that is eaten from the left; iterating gives flags in their dashed spelling."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._rest = list(arguments)
        self._attached: str | None = None  # what stood behind = in --flag=value

    def __iter__(self) -> Iterator[str]:
        while self._rest:
            word = self._rest.pop(0)
            flag, equals, attached = word.partition("=")
            self._attached = attached if equals and word.startswith("--") else None
            if word.startswith("--"):
                yield flag.replace("_", "-")
                if self._attached is not None:
                    raise SettingsError(f"{flag} takes no value, got {self._attached!r}")
            else:
                yield word

    def value(self, flag: str) -> str:
        """The value of `flag`. Raises SettingsError if the line ends here."""
        if self._attached is not None:
            value, self._attached = self._attached, None
            return value
        if not self._rest:
            raise SettingsError(f"{flag} expects a value")
        return self._rest.pop(0)

    def takes(self, words: frozenset[str]) -> None:
        """Drop a value if it is attached, or if the next word is one of `words`."""
        if self._attached is not None or (self._rest and self._rest[0].lower() in words):
            self.value("")


def _by_flag() -> tuple[
    dict[str, tuple[str, Option]], dict[str, str], dict[str, Inapplicable], dict[str, Inapplicable]
]:
    on = {flag: (name, row) for name, row in options().items() for flag in row.flags}
    off = {flag: name for name, row in options().items() for flag in row.off}
    ignored = {flag: row for row in IGNORED for flag in row.flags}
    refused = {flag: row for row in REFUSED for flag in row.flags}
    return on, off, ignored, refused


def _skip(row: Inapplicable, flag: str, rest: _Arguments) -> None:
    for _ in range(row.values):
        rest.value(flag)
    if row.optional:
        rest.takes(row.optional)
    log.warning("%s has no effect: %s", flag, row.reason)


def _read(row: Option, text: str, source: str) -> object:
    try:
        return boolean(text) if row.read is None else row.read(text)
    except SettingsError as error:
        raise SettingsError(f"{source}: {error}") from None


def _unknown(flag: str, known: Sequence[str]) -> SettingsError:
    near = difflib.get_close_matches(flag, known, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]}?" if near else "; --help lists them"
    return SettingsError(f"invalid argument: {flag}{hint}")
