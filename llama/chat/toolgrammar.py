"""Grammars for tool calls and answers, made from the same declarations that the reader uses."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import regex

from llama import grammar as grammars
from llama.chat.format import TOKEN, ChatFormat, Thought
from llama.chat.values import STRING, kinds
from llama.errors import SchemaError

Control = Callable[[str], int | None]
ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
WORDS = regex.compile(
    r"""(?P<skip>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\[(?:[^\]\\]|\\.)*\]|!?<[^>\r\n]+>|\{[^}]*\}|\#[^\r\n]*)"""
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_-]*)"
)
ANY = "[^\\x00]"
IDS = {"alnum9": "[a-zA-Z0-9]{9}", "index": "[0-9]{1,3}"}


def no_token(text: str) -> int | None:
    """For vocabularies without control tokens."""
    return None


class Rules:
    """A grammar in the making. `control` gives the id of a control token by its text."""

    def __init__(self, tools: Mapping[str, Any], control: Control = no_token) -> None:
        self._tools = tools
        self._control = control
        self._rules: dict[str, str] = {}
        self.names = list(tools)

    def add(self, name: str, body: str) -> str:
        """Define a rule; its name."""
        self._rules[name] = body
        return name

    def text(self, literal: str) -> str:
        """GBNF for fixed text. What is a control token of the vocabulary may come as that token."""
        parts, at = [], 0
        for match in TOKEN.finditer(literal):
            token = self._control(match.group())
            if token is not None:
                parts += [quoted(literal[at : match.start()]), f"({quoted(match.group())} | <[{token}]>)"]
                at = match.end()
        return " ".join(part for part in [*parts, quoted(literal[at:])] if part) or '""'

    def json_string(self, value: str) -> str:
        """GBNF for a JSON string."""
        return quoted(json.dumps(value, ensure_ascii=False))

    def id(self, form: str) -> str:
        """GBNF for an id."""
        return IDS[form]

    def number(self, name: str) -> int:
        """The place of a tool in the request."""
        return self.names.index(name)

    def arguments(self, name: str) -> str:
        """The rule for a tool's arguments as a JSON object."""
        return self.schema(f"tool-{self.number(name)}", as_object(self._tools[name]), name, "")

    def schema(self, prefix: str, schema: Any, tool: str, path: str) -> str:
        """The rule for a value of this schema. Raises SchemaError that names the tool and the place."""
        if f"{prefix}-root" not in self._rules:
            try:
                grammar = grammars.schema_to_gbnf(schema)
            except SchemaError as error:
                where = f"tools[{self.number(tool)}].function.parameters{path}{error.path}"
                message = f'tool "{tool}": {where}: {error}'
                raise SchemaError(message, where, error.keyword, "tools") from error
            self.include(prefix, grammar)
        return f"{prefix}-root"

    def include(self, prefix: str, grammar: str) -> None:
        """Take in the rules of a whole grammar, with a prefix before their names."""
        self._rules |= dict(definitions(renamed(grammar, prefix)))

    def property_schemas(self, name: str) -> Iterator[tuple[str, Any, bool]]:
        """Name, schema (with the definitions it may refer to) and necessity of each argument."""
        schema = as_object(self._tools[name])
        shared = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
        required = schema.get("required") or []
        for key, value in (schema.get("properties") or {}).items():
            yield key, {**value, **shared} if isinstance(value, dict) else value, key in required

    def tagged(self, name: str, opening: str, closing: str) -> str:
        """The arguments of a tool, each as text between tags."""
        parts = []
        for number, (key, schema, required) in enumerate(self.property_schemas(name)):
            rule = f"tool-{self.number(name)}-arg-{number}"
            ways = self._tagged_values(rule, name, key, schema, opening, closing)
            parts.append(self.add(rule, " | ".join(ways)) + ("" if required else "?"))
        return " ".join(parts) or '""'

    def _tagged_values(self, rule: str, name: str, key: str, schema: Any, opening: str, closing: str) -> list[str]:
        allowed = kinds(schema, schema)
        ways = []
        for is_text in (True, False):
            if (is_text and not (allowed & STRING or not allowed)) or (not is_text and allowed == STRING):
                continue
            head = self.text(opening.replace("{key}", key).replace("{string}", str(is_text).lower()))
            if is_text and isinstance(schema, dict) and isinstance(schema.get("enum"), list):
                texts = [value for value in schema["enum"] if isinstance(value, str)]
                ways.append(f"{head} ({' | '.join(map(quoted, texts))}) {self.text(closing)}")
            elif is_text:
                ways.append(f"{head} {self.until(closing)}")
            else:
                value = self.schema(f"{rule}-value", without_text(schema, allowed), name, f"/properties/{key}")
                ways.append(f"{head} {value} {self.text(closing)}")
        return ways

    def quoted(self, name: str, quote: str) -> str:
        """The arguments of a tool in Gemma's notation."""
        any_value = self.add("loose", f"{quoted(quote)} {self.until(quote)} | loose-list | loose-object | loose-word")
        self.add("loose-word", '"true" | "false" | "null" | "-"? [0-9]+ ("." [0-9]+)? ([eE] [-+]? [0-9]+)?')
        self.add("loose-list", '"[" (loose ("," loose)*)? "]"')
        self.add("loose-object", '"{" (loose-pair ("," loose-pair)*)? "}"')
        self.add("loose-pair", '[A-Za-z0-9_.-]+ ":" loose')
        pairs = []
        for number, (key, schema, required) in enumerate(self.property_schemas(name)):
            allowed = kinds(schema, schema)
            prefix = f"tool-{self.number(name)}-arg-{number}"
            if allowed == STRING:
                texts = schema.get("enum") if isinstance(schema, dict) else None
                fixed = " | ".join(self.text(f"{quote}{text}{quote}") for text in texts or ())
                value = f"({fixed})" if fixed else f"{quoted(quote)} {self.until(quote)}"
            elif allowed and not allowed & {"object", "array", "string"}:
                value = self.schema(prefix, schema, name, f"/properties/{key}")
            else:
                value = any_value
            pairs.append((f"{quoted(key + ':')} {value}", required))
        return f'"{{" {self.separated(f"tool-{self.number(name)}-pairs", pairs, ",")} "}}"'

    def python(self, name: str) -> str:
        """The arguments of a tool as Python keywords."""
        pairs = []
        for number, (key, schema, required) in enumerate(self.property_schemas(name)):
            value = self.schema(f"tool-{self.number(name)}-arg-{number}", schema, name, f"/properties/{key}")
            pairs.append((f"{quoted(key + '=')} {value}", required))
        return self.separated(f"tool-{self.number(name)}-pairs", pairs, ", ")

    def separated(self, prefix: str, parts: list[tuple[str, bool]], separator: str) -> str:
        """GBNF for these parts in order, those that are not required perhaps missing, separators between."""
        heads, needed = [], False
        for number in reversed(range(len(parts))):
            part, required = parts[number]
            rest = f"{prefix}-{number + 1}" if number + 1 < len(parts) else ""
            group = f"{quoted(separator)} {part}"
            self.add(f"{prefix}-{number}", f"{group if required else f'({group})?'} {rest}".strip())
        for number, (part, required) in enumerate(parts):
            rest = f"{prefix}-{number + 1}" if number + 1 < len(parts) else ""
            heads.append(f"{part} {rest}".strip())
            if required:
                needed = True
                break
        return f"({' | '.join(heads)})" + ("" if needed else "?") if heads else '""'

    def until(self, end: str) -> str:
        """The rule for any text up to the first `end`, which is part of it."""
        match = TOKEN.match(end.strip())
        token = self._control(match.group()) if match else None
        name = "until-" + "".join(character if character.isalnum() else f"-{ord(character):x}" for character in end)
        name = re.sub(r"[^A-Za-z0-9-]", "x", name)
        if token is not None and match is not None:
            rest = end[end.index(match.group()) + len(match.group()) :]
            return self.add(name, f"{ANY}* <[{token}]> {quoted(rest)}".strip())
        if name not in self._rules:
            for rule, body in automaton(end, name):
                self.add(rule, body)
        return name

    def __str__(self) -> str:
        return "\n".join(f"{name} ::= {body}" for name, body in self._rules.items()) + "\n"


def state(name: str, number: int) -> str:
    """The rule for the place where so much of the end is matched."""
    return f"{name}-{number}" if number else name


def automaton(end: str, name: str) -> Iterator[tuple[str, str]]:
    """Rules that read text until `end` has come: one for each length of `end` that is matched so far."""
    for number in range(len(end)):
        seen, ways = end[:number], []
        letters = sorted(set(end[: number + 1]))
        for letter in letters:
            text = seen + letter
            length = max(
                size for size in range(len(text) + 1) if end[:size] == text[len(text) - size :] and size <= len(end)
            )
            if length == len(end):
                ways.append(quoted(letter))
            else:
                ways.append(f"{quoted(letter)} {state(name, length)}")
        others = "".join(escaped_class(letter) for letter in letters)
        yield state(name, number), " | ".join([*ways, f"[^{others}] {state(name, 0)}"])


def escaped_class(letter: str) -> str:
    """A character inside of a GBNF class."""
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(letter, "\\" + letter if letter in '\\]["^-' else letter)


def quoted(text: str) -> str:
    """`text` as a GBNF literal; nothing for no text."""
    return '"' + "".join(ESCAPES.get(character, character) for character in text) + '"' if text else ""


def as_object(schema: Any) -> dict[str, Any]:
    """A tool's parameters: an object, without arguments if nothing is said."""
    if not isinstance(schema, dict) or not schema:
        return {"type": "object", "properties": {}}
    if not {"type", "$ref", "anyOf", "oneOf", "allOf"} & schema.keys():
        return {"type": "object", **schema}
    return schema


def without_text(schema: Any, allowed: frozenset[str]) -> Any:
    """The schema without strings, where it allows those beside other types."""
    if not isinstance(schema, dict) or "string" not in allowed:
        return schema if allowed else {"type": ["object", "array", "number", "boolean", "null"]}
    if isinstance(schema.get("type"), list):
        return {**schema, "type": [kind for kind in schema["type"] if kind != "string"]}
    if isinstance(schema.get("enum"), list):
        return {**schema, "enum": [value for value in schema["enum"] if not isinstance(value, str)]}
    for word in ("anyOf", "oneOf"):
        if isinstance(schema.get(word), list):
            return {**schema, word: [part for part in schema[word] if kinds(part, schema) != STRING]}
    return schema


def renamed(grammar: str, prefix: str) -> str:
    """The grammar with `prefix` before the names of all its rules."""
    return WORDS.sub(lambda match: match.group("skip") or f"{prefix}-{match.group('name')}", grammar)


def definitions(grammar: str) -> Iterator[tuple[str, str]]:
    """Names and bodies of a grammar's rules."""
    parts = re.split(r"(?m)^\s*([A-Za-z0-9_-]+)\s*::=", grammar)
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        yield name, body.strip()


def calls(format: ChatFormat, rules: Rules, many: bool) -> str:
    """GBNF for one call of one of the tools, or with `many` for several."""
    if format.grammar is not None:
        return format.grammar(rules, many)
    mine, body = format.markers, format.body
    joined = body.join([body.rule(rules, name) for name in rules.names], many)
    one = f"{rules.text(mine.begin)} {joined} {rules.text(mine.end)}"
    start, end = rules.text(mine.section_begin), rules.text(mine.section_end)
    if mine.each:
        one, start, end = f"{start} {one} {end}", '""', '""'
    if many and not body.lists:
        one = f"{one} ({rules.text(mine.between)} {one})*"
    return f"{start} {one} {end}"


def thinking(rules: Rules, thought: Thought) -> str:
    """GBNF for a thought that may stand at the start."""
    return f"({rules.text(thought.start)} {rules.until(thought.end)} [ \\n]{{0,4}})?"
