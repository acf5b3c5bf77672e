"""Pieces of GBNF text."""

import re
from collections.abc import Iterator

import regex

ANY = "[^\\x00]"
ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
WORDS = regex.compile(
    r"""(?P<skip>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\[(?:[^\]\\]|\\.)*\]|!?<[^>\r\n]+>|\{[^}]*\}|\#[^\r\n]*)"""
    r"|(?P<name>[A-Za-z0-9_-]+)"
)


def quoted(text: str) -> str:
    """`text` as a literal; nothing for no text."""
    return '"' + "".join(ESCAPES.get(character, character) for character in text) + '"' if text else ""


def escaped_class(letter: str) -> str:
    """A character inside of a class."""
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(letter, "\\" + letter if letter in '\\]["^-' else letter)


def choice(ways: list[str]) -> str:
    """One of these."""
    return "(" + " | ".join(ways) + ")"


def state(name: str, number: int) -> str:
    """The rule for the place where so much of an end is matched."""
    return f"{name}_{number}" if number else name


def until_rules(end: str, name: str) -> Iterator[tuple[str, str]]:
    """Rules that read text until `end` has come: one for each length of `end` that is matched so far.

    The way back after a letter that does not fit is that of Knuth, Morris and Pratt.
    """
    for number in range(len(end)):
        letters, ways = sorted(set(end[: number + 1])), []
        for letter in letters:
            text = end[:number] + letter
            length = max(size for size in range(len(text) + 1) if text.endswith(end[:size]))
            ways.append(quoted(letter) + ("" if length == len(end) else f" {state(name, length)}"))
        others = "".join(map(escaped_class, letters))
        yield state(name, number), " | ".join([*ways, f"[^{others}] {name}"])


def renamed(grammar: str, prefix: str) -> str:
    """The grammar with `prefix` before the names of all its rules."""
    return WORDS.sub(lambda match: match.group("skip") or prefix + match.group("name"), grammar)


def definitions(grammar: str) -> Iterator[tuple[str, str]]:
    """Names and bodies of a grammar's rules."""
    parts = re.split(r"(?m)^\s*([A-Za-z0-9_-]+)\s*::=", grammar)
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        yield name, body.strip()
