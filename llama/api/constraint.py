"""Turns what binds an output into fresh constraints, one for each choice; compiled once, in the caller's thread."""

from collections.abc import Callable

from llama.api.call import Rule
from llama.errors import InvalidRequest
from llama.grammar import Constraint, LazyConstraint, TokenTrie, Trigger, compile_grammar, compile_regex, compile_schema
from llama.grammar.program import Program

ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def constraint_factory(rule: Rule, trie: TokenTrie, triggers: tuple[Trigger, ...] = ()) -> Callable[[], Constraint]:
    """Makes constraints of `rule`, which wait for one of `triggers` if there are any. Raises InvalidRequest."""
    program = compiled(rule)
    if triggers:
        make: Callable[[], Constraint] = lambda: LazyConstraint(program, trie, triggers)  # noqa: E731
    else:
        make = lambda: program.constraint(trie)  # noqa: E731
    make()  # an element that this vocabulary lacks shows here, before anything is sent
    return make


def compiled(rule: Rule) -> Program:
    """The program of `rule`. Raises InvalidRequest that names the field."""
    try:
        if rule.kind == "grammar":
            return compile_grammar(rule.value)
        if rule.kind == "schema":
            return compile_schema(rule.value)
        if rule.kind == "regex":
            return compile_regex(rule.value)
        return compile_grammar("root ::= " + " | ".join(literal(text) for text in rule.value))
    except InvalidRequest as error:
        error.field = rule.field
        raise


def literal(text: str) -> str:
    """`text` as a GBNF literal."""
    return '"' + "".join(ESCAPES.get(character, character) for character in text) + '"'
