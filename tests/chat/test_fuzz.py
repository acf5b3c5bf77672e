"""Pieces of markup in random order: never an error, never an endless loop, never another message for another cut."""

import random
from typing import Any

import pytest

from llama.chat import MessageParser
from llama.chat.format import THINK
from llama.chat.formats import FORMATS, generic
from llama.chat.reader import ReadOptions
from tests.chat.test_families import CASES, TOOLS

FRAGMENTS = [
    "{",
    "}",
    "[",
    "]",
    '"',
    ",",
    ":",
    "\n",
    " ",
    "a",
    "1",
    "add",
    "now",
    '"name"',
    '"arguments"',
    '"add"',
    "<",
    "</",
]
FRAGMENTS += ["<think>", "</think>", "null", "\\", "```json", ">>>", "<|start|>assistant", "<|channel|>", "<|message|>"]


def random_text(chance: random.Random, format: Any) -> str:
    mine = format.markers
    pieces = FRAGMENTS + [mine.begin, mine.end, mine.section_begin, mine.section_end] * 3 + list(format.drop)
    for case in CASES:
        if case[0] == format.name:
            start = chance.randrange(len(case[2]))
            pieces += [case[2], case[2][start : start + chance.randrange(1, 25)]]
    return "".join(chance.choice(pieces) for _ in range(chance.randrange(1, 9)))


@pytest.mark.timeout(120)
@pytest.mark.parametrize("format", [*FORMATS, generic.FORMAT], ids=lambda format: format.name)
def test_random_markup(format: Any) -> None:
    chance = random.Random(format.name)
    for _ in range(60):
        text = random_text(chance, format)
        options = ReadOptions(
            tools=TOOLS if chance.random() < 0.85 else {},
            thought=format.thought or THINK,
            reasoning=chance.choice(["auto", "none", "deepseek-legacy"]),
            fenced=chance.random() < 0.1,
        )
        begun, cut = chance.choice(["", "<think>\n"]), chance.random() < 0.4

        def message(*pieces: str) -> Any:
            parser = MessageParser(format, options, begun)  # noqa: B023
            for piece in pieces:
                parser.feed(piece)
            parser.flush(cut)  # noqa: B023
            return parser.message

        whole, at = message(text), chance.randrange(len(text) + 1)
        assert message(*text) == whole, text
        assert message(text[:at], text[at:]) == whole, (text, at)
