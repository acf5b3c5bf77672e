"""Grammars for tool calls and answers, made from the same declarations that the reader uses."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from llama.chat.format import TOKEN, ChatFormat, Thought
from llama.chat.gbnf import ANY, choice, definitions, escaped_class, quoted, renamed, until_rules
from llama.chat.values import STRING, kinds
from llama.errors import SchemaError
from llama.grammar import Converter

Control = Callable[[str], int | None]
IDS = {"alnum9": "[a-zA-Z0-9]{9}", "index": "[0-9]{1,3}", "any": "[a-zA-Z0-9_-]{1,40}"}
PYTHON = {"boolean": '"True" | "False"', "null": '"None"'}
SCALARS = frozenset({"integer", "number", "boolean", "null"})


def no_token(text: str) -> int | None:
    """For vocabularies without control tokens."""
    return None


class Rules:
    """A grammar in the making. `control` gives the id of a control token by its text.

    Names of rules from schemas never have an underscore, those of this class always begin with c_.
    """

    def __init__(self, tools: Mapping[str, Any], control: Control = no_token) -> None:
        self._tools = tools
        self._control = control
        self._rules: dict[str, str] = {}
        self._converter = Converter()
        self._schemas: dict[tuple[str, str], str] = {}
        self._ends: dict[str, str] = {}
        self.names = list(tools)

    def __str__(self) -> str:
        own = "".join(f"{name} ::= {body}\n" for name, body in self._rules.items())
        return own + self._converter.rules.text()

    def add(self, name: str, body: str) -> str:
        """Define a rule; its whole name."""
        self._rules[f"c_{name}"] = body
        return f"c_{name}"

    def text(self, literal: str) -> str:
        """Fixed text. What is a control token of the vocabulary may come as that token."""
        parts, at = [], 0
        for match in TOKEN.finditer(literal):
            token = self._control(match.group())
            if token is not None:
                parts += [quoted(literal[at : match.start()]), f"({quoted(match.group())} | <[{token}]>)"]
                at = match.end()
        return " ".join(part for part in [*parts, quoted(literal[at:])] if part) or '""'

    def marker(self, literal: str) -> str:
        """A marker round calls or arguments; its line breaks may be missing."""
        parts = [self.text(part) if part else "" for part in literal.split("\n")]
        return ' "\\n"? '.join(parts).strip() or '""'

    def json_string(self, value: str) -> str:
        """A JSON string."""
        return quoted(json.dumps(value, ensure_ascii=False))

    def id(self, form: str) -> str:
        """An id of this form."""
        return IDS[form]

    def until(self, end: str) -> str:
        """The rule for any text up to the first `end`, which is part of it."""
        if end in self._ends:
            return self._ends[end]
        name = self._ends[end] = f"c_until{len(self._ends)}"
        match = TOKEN.match(end)
        token = self._control(match.group()) if match else None
        if match is not None and token is not None:
            self._rules[name] = f"{ANY}* <[{token}]> {quoted(end[match.end() :])}"
        else:
            self._rules |= dict(until_rules(end, name))
        return name

    def answer(self, schema: Any) -> str:
        """The rule for an answer of this schema. Raises SchemaError."""
        return self._converter.schema({"type": "object"} if schema == {} else schema, "answer")

    def include(self, grammar: str) -> str:
        """Take in a whole grammar of the user's; the name of its root."""
        self._rules |= dict(definitions(renamed(grammar, "u_")))
        return "u_root"

    def arguments(self, name: str) -> str:
        """The rule for a tool's arguments as a JSON object. Raises SchemaError that names the tool."""
        return self._value(name, "", as_object(self._tools[name]))

    def _value(self, tool: str, path: str, schema: Any) -> str:
        """The rule for a value of the schema at this place of a tool's parameters."""
        if (tool, path) not in self._schemas:
            try:
                self._schemas[tool, path] = self._converter.schema(schema, tool)
            except SchemaError as error:
                where = f"tools[{self.names.index(tool)}].function.parameters{path}{error.path.removeprefix('#')}"
                raise SchemaError(f'tool "{tool}": {where}: {error}', where, error.keyword, "tools") from error
        return self._schemas[tool, path]

    def _properties(self, name: str) -> Iterator[tuple[str, Any, bool]]:
        """Name, schema (with the definitions it may refer to) and necessity of each argument."""
        schema = as_object(self._tools[name])
        shared = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
        required = schema.get("required") or []
        for key, value in (schema.get("properties") or {}).items():
            yield key, {**value, **shared} if isinstance(value, dict) else value, key in required

    def tagged(self, name: str, opening: str, closing: str) -> str:
        """The arguments of a tool, each as text between tags."""
        parts = []
        for key, schema, required in self._properties(name):
            ways = list(self._tagged_values(name, key, schema, opening, closing))
            parts.append(choice(ways) + ("" if required else "?"))
        return " ".join(parts) or '""'

    def _tagged_values(self, name: str, key: str, schema: Any, opening: str, closing: str) -> Iterator[str]:
        allowed = kinds(schema, schema)
        opening = opening.replace("{key}", key)
        if STRING & allowed or not allowed:
            head = self.marker(opening.replace("{string}", "true").replace("{kind}", "string"))
            texts = texts_of(schema)
            if texts:
                yield f"{head} {choice(list(map(quoted, texts)))} {self.marker(closing)}"
            else:
                yield f'{head} {self.until(closing.strip(chr(10)))} "\\n"?'
        if allowed != STRING:
            kind = min(allowed - STRING, default="object")
            head = self.marker(opening.replace("{string}", "false").replace("{kind}", kind))
            value = self._value(name, f"/properties/{key}", without_text(schema, allowed))
            yield f"{head} {value} {self.marker(closing)}"

    def quoted(self, name: str, quote: str) -> str:
        """The arguments of a tool in Gemma's notation. Inside of nested values anything goes."""
        text = f"{self.text(quote)} {self.until(quote)}"
        self.add("word", '"true" | "false" | "null" | "-"? [0-9]+ ("." [0-9]+)? ([eE] [-+]? [0-9]+)?')
        self.add("list", '"[" (c_loose ("," c_loose)*)? "]"')
        self.add("mapping", '"{" (c_pair ("," c_pair)*)? "}"')
        self.add("pair", '[A-Za-z0-9_.-]+ ":" c_loose')
        loose = self.add("loose", f"{text} | c_list | c_mapping | c_word")
        pairs = []
        for key, schema, required in self._properties(name):
            allowed = kinds(schema, schema)
            if allowed == STRING:
                fixed = [self.text(f"{quote}{value}{quote}") for value in texts_of(schema)]
                value = choice(fixed) if fixed else text
            elif allowed and allowed <= SCALARS:
                value = self._value(name, f"/properties/{key}", schema)
            else:
                value = loose
            pairs.append((f"{quoted(key + ':')} {value}", required))
        return '"{" ' + self.separated(f"quoted{self.names.index(name)}", pairs, ",") + ' "}"'

    def nested(self, name: str, space: str) -> str:
        """The arguments of a tool as nested elements. Inside of nested values anything goes."""
        parts = []
        for key, schema, required in self._properties(name):
            allowed = kinds(schema, schema)
            opening, closing = self.text(f"{space}<{key}>"), f"{space}</{key}>"
            if allowed and allowed <= SCALARS:
                inner = f"{self._value(name, f'/properties/{key}', schema)} {self.text(closing)}"
            elif allowed == STRING:
                inner = self.until(closing)
            else:
                inner = f"{self._element(space)} {self.text(closing)}"
            parts.append(f"({opening} {inner})" + ("" if required else "?"))
        return " ".join(parts) or '""'

    def _element(self, space: str) -> str:
        """The rule for the inside of any element: text, or elements."""
        before, behind = self.text(f"{space}<"), self.text(f"{space}</")
        self.add("element", f"{before} c_tag c_inside {behind} c_tag")
        self.add("tag", '[A-Za-z0-9_.-]+ ">"')
        return self.add("inside", f"[^{escaped_class(space[0])}<]* | c_element+")

    def python(self, name: str) -> str:
        """The arguments of a tool as Python keywords."""
        pairs = []
        for key, schema, required in self._properties(name):
            words = (
                [PYTHON[kind] for kind in sorted(kinds(schema, schema))]
                if kinds(schema, schema) <= PYTHON.keys()
                else []
            )
            value = choice(words) if words else self._value(name, f"/properties/{key}", schema)
            pairs.append((f"{quoted(key + '=')} {value}", required))
        return self.separated(f"keywords{self.names.index(name)}", pairs, ", ")

    def separated(self, prefix: str, parts: list[tuple[str, bool]], separator: str) -> str:
        """These parts in order, those that are not required perhaps missing, separators between."""
        if not parts:
            return '""'
        behind = [f" c_{prefix}_{number + 1}" if number + 1 < len(parts) else "" for number in range(len(parts))]
        for number, (part, required) in enumerate(parts):
            group = f"({quoted(separator)} {part})" + ("" if required else "?")
            self.add(f"{prefix}_{number}", group + behind[number])
        first_required = next((number for number, (_, required) in enumerate(parts) if required), None)
        heads = [part + behind[number] for number, (part, _) in enumerate(parts)]
        if first_required is None:
            return choice(heads) + "?"
        return choice(heads[: first_required + 1])


def texts_of(schema: Any) -> list[str]:
    """The texts a schema names, if it names some."""
    if not isinstance(schema, dict):
        return []
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []


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


def calls(format: ChatFormat, rules: Rules, many: bool) -> str:
    """One call of one of the tools, or with `many` several."""
    if format.grammar is not None:
        return format.grammar(rules, many)
    mine, body = format.markers, format.body
    joined = body.join([body.rule(rules, name) for name in rules.names], many)
    one = f"{rules.marker(mine.begin)} {joined} {rules.marker(mine.end)}"
    start, end = rules.marker(mine.section_begin), rules.marker(mine.section_end)
    if mine.each:
        one, start, end = f"{start} {one} {end}", '""', '""'
    if many and not body.lists:
        one = f"{one} ({rules.text(mine.between)} {one})*"
    return f"{start} {one} {end}"


def thinking(rules: Rules, thought: Thought) -> str:
    """A thought that may stand at the start."""
    return f"({rules.text(thought.start)} {rules.until(thought.end)} [ \\n]{{0,4}})?"
