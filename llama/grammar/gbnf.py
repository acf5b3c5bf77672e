"""Reads GBNF text into a syntax tree: llama.cpp's dialect, and single-quoted literals besides.

No recursion of Python anywhere: groups may nest as deep as the text is long.
"""

import re
from dataclasses import dataclass, field

from llama.errors import GrammarError
from llama.grammar.syntax import (
    ANY,
    Choice,
    Class,
    Expression,
    Grammar,
    Literal,
    OneToken,
    Reference,
    Repeat,
    Sequence,
    complement,
    normalised,
)

LEXEME = re.compile(
    r"""(?P<space>[ \t]+|\#[^\r\n]*)
      | (?P<newline>\r\n|\n|\r)
      | (?P<arrow>::=)
      | (?P<name>[A-Za-z0-9_-]+)
      | (?P<literal>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<class>\[(?:[^\]\\]|\\.)*\])
      | (?P<token>!?<(?:\[[0-9]+\]|[^<>\r\n]+)>)
      | (?P<count>\{[^}\r\n]*\})
      | (?P<sign>[.()|*+?])""",
    re.VERBOSE | re.DOTALL,
)
ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([trn\\\"'\[\]-]))|([^\\])", re.DOTALL)
NAMED_ESCAPES = {"t": "\t", "r": "\r", "n": "\n"}
COUNT = re.compile(r"\{\s*([0-9]+)\s*(?:(,)\s*([0-9]+)?\s*)?\}")
LARGEST_COUNT = 1_000_000_000
UNFINISHED = {
    '"': "unterminated literal",
    "'": "unterminated literal",
    "[": "unterminated class",
    "{": "unterminated count",
}


@dataclass(slots=True)
class _Level:
    """An open group: the alternatives read so far, and the one being read."""

    offset: int
    options: list[Expression] = field(default_factory=list)
    items: list[Expression] = field(default_factory=list)

    def close_option(self) -> None:
        self.options.append(self.items[0] if len(self.items) == 1 else Sequence(tuple(self.items)))
        self.items = []

    def close(self) -> Expression:
        self.close_option()
        return self.options[0] if len(self.options) == 1 else Choice(tuple(self.options))


def parse_gbnf(text: str) -> Grammar:
    """The syntax tree of `text`. Raises GrammarError with line, column and a caret under the place."""
    return _Parser(text).grammar()


def error_at(text: str, offset: int, message: str) -> GrammarError:
    """A GrammarError that shows the line of `text` at `offset` with a caret below it."""
    start = max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1
    line = len(re.findall(r"\r\n|\n|\r", text[:start])) + 1
    column = offset - start + 1
    shown = re.split(r"[\r\n]", text[start : start + column + 60], maxsplit=1)[0]
    cut = max(0, column - 60)
    pointer = f"{shown[cut:]}\n{' ' * (column - 1 - cut)}^"
    return GrammarError(f"grammar, line {line}, column {column}: {message}\n{pointer}", line, column)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._kinds: list[str] = []
        self._words: list[str] = []
        self._offsets: list[int] = []
        self._at = 0
        self._rules: dict[str, Expression] = {}

    def grammar(self) -> Grammar:
        self._split()
        self._skip_newlines()
        while self._kind() != "end":
            self._rule()
            self._skip_newlines()
        if "root" not in self._rules:
            raise GrammarError("grammar: there is no rule `root` to start from; add one: root ::= ...")
        return Grammar(self._rules, self._text)

    def _split(self) -> None:
        text, offset = self._text, 0
        while offset < len(text):
            found = LEXEME.match(text, offset)
            if found is None:
                raise self._error(UNFINISHED.get(text[offset], f"unexpected {text[offset]!r}"), offset)
            kind = found.lastgroup or ""
            if kind != "space":
                self._kinds.append(kind)
                self._words.append(found.group())
                self._offsets.append(offset)
            offset = found.end()
        self._kinds.append("end")
        self._words.append("")
        self._offsets.append(len(text))

    def _error(self, message: str, offset: int | None = None) -> GrammarError:
        return error_at(self._text, self._offsets[self._at] if offset is None else offset, message)

    def _kind(self) -> str:
        return self._kinds[self._at]

    def _skip_newlines(self) -> None:
        while self._kinds[self._at] == "newline":
            self._at += 1

    def _rule(self) -> None:
        name = self._words[self._at]
        if self._kind() != "name":
            raise self._error(f"expected the name of a rule, got {name!r}")
        self._at += 1
        if self._kind() != "arrow":
            raise self._error(f"expected ::= after `{name}`")
        self._at += 1
        self._skip_newlines()
        self._rules[name] = self._alternates()

    def _alternates(self) -> Expression:
        levels = [_Level(self._offsets[self._at])]
        while True:
            kind, word = self._kind(), self._words[self._at]
            level = levels[-1]
            if kind == "end" or (kind == "newline" and len(levels) == 1 and not self._goes_on()):
                break
            if kind == "newline":
                self._skip_newlines()
            elif word == "|" and kind == "sign":
                level.close_option()
                self._at += 1
                self._skip_newlines()
            elif word == "(" and kind == "sign":
                levels.append(_Level(self._offsets[self._at]))
                self._at += 1
            elif word == ")" and kind == "sign":
                if len(levels) == 1:
                    raise self._error("`)` without its `(`")
                levels.pop()
                levels[-1].items.append(level.close())
                self._at += 1
            else:
                self._element(level, kind, word)
                self._at += 1
        if len(levels) > 1:
            raise self._error("unclosed `(`", levels[-1].offset)
        return levels[0].close()

    def _goes_on(self) -> bool:
        """True if the next line begins with `|`, and so belongs to this rule."""
        at = self._at
        while self._kinds[at] == "newline":
            at += 1
        return self._kinds[at] == "sign" and self._words[at] == "|"

    def _element(self, level: _Level, kind: str, word: str) -> None:
        offset = self._offsets[self._at]
        if kind == "literal":
            level.items.append(Literal("".join(map(chr, self._points(word, offset))).encode()))
        elif kind == "class":
            level.items.append(self._class(word, offset))
        elif kind == "name":
            level.items.append(Reference(word, offset))
        elif kind == "token":
            level.items.append(OneToken(word.lstrip("!"), word.startswith("!"), offset))
        elif word == ".":
            level.items.append(Class(ANY))
        elif kind == "count" or word in "*+?":
            self._repeat(level, kind, word)
        else:
            raise self._error(f"unexpected {word!r}")

    def _repeat(self, level: _Level, kind: str, word: str) -> None:
        if not level.items:
            raise self._error(f"there is nothing before `{word}` to repeat")
        low, high = self._count(word) if kind == "count" else {"*": (0, None), "+": (1, None), "?": (0, 1)}[word]
        level.items.append(Repeat(level.items.pop(), low, high))

    def _count(self, word: str) -> tuple[int, int | None]:
        found = COUNT.fullmatch(word)
        if found is None:
            raise self._error("a count is {m}, {m,} or {m,n}")
        low = int(found[1])
        high = int(found[3]) if found[3] else None if found[2] else low
        if high is not None and high < low:
            raise self._error(f"the count {word} has its bounds reversed")
        if max(low, high or 0) > LARGEST_COUNT:
            raise self._error(f"the count {word} is over {LARGEST_COUNT}")
        return low, high

    def _points(self, word: str, offset: int) -> list[int]:
        """The code points of a quoted literal."""
        return [point for point, _ in self._characters(word[1:-1], offset + 1, word[0])]

    def _characters(self, body: str, offset: int, quote: str) -> list[tuple[int, bool]]:
        """Code points of `body`, each with whether it was written as an escape."""
        if "\\" not in body:
            self._refuse_surrogates(body, offset)
            return [(ord(character), False) for character in body]
        found: list[tuple[int, bool]] = []
        at = 0
        while at < len(body):
            match = ESCAPE.match(body, at)
            if match is None or (match[4] == "'" and quote != "'"):
                raise self._error(f"unknown escape {body[at : at + 2]}", offset + at)
            digits = match[1] or match[2] or match[3]
            point = int(digits, 16) if digits else ord(NAMED_ESCAPES.get(match[4], match[4]) if match[4] else match[5])
            if point > 0x10FFFF or 0xD800 <= point <= 0xDFFF:
                raise self._error(f"{match[0]} is not a character", offset + at)
            found.append((point, match[5] is None))
            at = match.end()
        return found

    def _refuse_surrogates(self, body: str, offset: int) -> None:
        if not body.isascii():
            for at, character in enumerate(body):
                if "\ud800" <= character <= "\udfff":
                    raise self._error(f"{character!r} is not a character", offset + at)

    def _class(self, word: str, offset: int) -> Class:
        negated = word.startswith("[^")
        body = word[2:-1] if negated else word[1:-1]
        points = self._characters(body, offset + (2 if negated else 1), "[")
        ranges: list[tuple[int, int]] = []
        at = 0
        while at < len(points):
            low = points[at][0]
            if at + 2 < len(points) and points[at + 1] == (ord("-"), False):
                high = points[at + 2][0]
                if high < low:
                    raise self._error(f"the range {chr(low)}-{chr(high)} is reversed", offset)
                at += 3
            else:
                high = low
                at += 1
            ranges.append((low, high))
        return Class(complement(normalised(ranges)) if negated else normalised(ranges))
