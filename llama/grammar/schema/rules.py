"""The rules of a grammar that is being written."""

import re

MOST_DIGITS = 40  # of a number's integral part or fraction: a model that never stops writing digits must be stopped
BASE_RULES = {
    "space": '"" | " " | "\\n"{1,2} [ \\t]{0,20}',
    "char": r"""[^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" code)""",
    "code": r"""[0-9A-CEFa-cef] hex{3} | [Dd] [0-7] hex{2} | [Dd] [89ABab] hex{2} "\\u" [Dd] [C-Fc-f] hex{2}""",
    "hex": "[0-9A-Fa-f]",
    "string": '"\\"" char* "\\""',
    "integral": f"[0] | [1-9] [0-9]{{0,{MOST_DIGITS - 1}}}",
    "integer": '"-"? integral',
    "number": f'"-"? integral ("." [0-9]{{1,{MOST_DIGITS}}})? ([eE] [-+]? [0-9]{{1,3}})?',
    "boolean": '"true" | "false"',
    "null": '"null"',
    "array": '"[" space (value ("," space value)* space)? "]"',
    "object": '"{" space (string ":" space value ("," space string ":" space value)* space)? "}"',
    "value": "object | array | string | number | boolean | null",
}
NEEDS = {
    "char": ("code",),
    "code": ("hex",),
    "string": ("char",),
    "integer": ("integral",),
    "number": ("integral",),
    "array": ("value", "space"),
    "object": ("value", "string", "space"),
    "value": ("object", "array", "string", "number", "boolean", "null"),
}


class Rules:
    """Rules by name; each name is given once."""

    def __init__(self) -> None:
        self._bodies: dict[str, str] = {}
        self._names: dict[str, int] = {}
        self._shared: dict[str, str] = {}

    def name(self, wish: str) -> str:
        """A name that is still free, as near to `wish` as GBNF lets it be."""
        wish = re.sub(r"[^A-Za-z0-9]+", "-", wish)[-60:].strip("-") or "rule"
        if wish in BASE_RULES or wish[-1].isdigit():
            wish += "-x"
        n = self._names[wish] = self._names.get(wish, 0) + 1
        return wish if n == 1 else f"{wish}-{n}"

    def set(self, name: str, body: str) -> str:
        """Give the rule `name` its body; returns the name."""
        self._bodies[name] = body
        return name

    def add(self, wish: str, body: str) -> str:
        """A new rule; returns its name."""
        return self.set(self.name(wish), body)

    def shared(self, wish: str, body: str) -> str:
        """An expression that may come up often: a long one becomes a rule, the same one for equal bodies."""
        if len(body) < 40 and "|" not in body:
            return body
        if body not in self._shared:
            self._shared[body] = self.add(wish, body)
        return self._shared[body]

    def base(self, name: str) -> str:
        """One of the rules that every schema shares, such as `string`; returns its name."""
        pending = [name]
        while pending:
            needed = pending.pop()
            if needed not in self._bodies:
                self._bodies[needed] = BASE_RULES[needed]
                pending += NEEDS.get(needed, ())
        return name

    def text(self) -> str:
        """All rules as GBNF."""
        return "".join(f"{name} ::= {body}\n" for name, body in self._bodies.items())
