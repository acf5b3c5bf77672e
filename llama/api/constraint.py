"""Turns what binds an output into fresh constraints, one for each choice; compiled once, in the caller's thread."""

from collections.abc import Callable

from llama.api.call import Rule
from llama.chat import ChatPlan
from llama.errors import InvalidRequest
from llama.grammar import (
    Constraint,
    LazyConstraint,
    Program,
    TokenTrie,
    Trigger,
    choice_to_gbnf,
    compile_grammar,
    compile_schema,
    regex_to_gbnf,
)

Make = Callable[[], Constraint]


def rule_constraint(rule: Rule, trie: TokenTrie, triggers: tuple[Trigger, ...] = ()) -> Make:
    """Makes constraints of `rule`, which wait for one of `triggers` if there are any. Raises InvalidRequest."""
    program = compiled(rule)
    return lambda: LazyConstraint(program, trie, triggers) if triggers else program.constraint(trie)


def plan_constraint(plan: ChatPlan, trie: TokenTrie) -> Make | None:
    """Makes constraints of a conversation's grammar, which may wait for a trigger or for the end of a thought."""
    if plan.grammar is None:
        return None
    program = compile_grammar(plan.grammar)
    if not plan.lazy and plan.after is None:
        return lambda: program.constraint(trie)
    return lambda: LazyConstraint(program, trie, plan.triggers, after=plan.after)


def compiled(rule: Rule) -> Program:
    """The program of `rule`. Raises InvalidRequest that names the field."""
    try:
        return compile_schema(rule.value) if rule.kind == "schema" else compile_grammar(gbnf(rule))
    except InvalidRequest as error:
        error.field = rule.field
        raise


def gbnf(rule: Rule) -> str:
    """The grammar of a rule that is no schema. Raises InvalidRequest that names the field."""
    try:
        if rule.kind == "regex":
            return regex_to_gbnf(rule.value)
        if rule.kind == "choice":
            return choice_to_gbnf(list(rule.value))
    except InvalidRequest as error:
        error.field = rule.field
        raise
    return str(rule.value)
