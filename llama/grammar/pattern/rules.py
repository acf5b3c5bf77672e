"""Patterns and machines as GBNF."""

from collections.abc import Callable, Iterator, Sequence

from llama.errors import GrammarError
from llama.grammar.pattern.ecma import Anchor, Chain, Either, Pattern, PatternError, Points, Times, parse_pattern
from llama.grammar.pattern.machine import Search, Table, explore
from llama.grammar.pattern.spelling import class_text, quoted
from llama.grammar.syntax import Ranges

Spell = Callable[[Ranges], str]


def regex_to_gbnf(pattern: str) -> str:
    """A grammar of the texts that `pattern` matches from end to end. Raises GrammarError."""
    try:
        tree = parse_pattern(pattern)
        options = anchored_options(tree)
        if options is None:
            table = explore([Search(tree, whole=True)])
            names = ["root", *(f"state-{state}" for state in range(1, len(table.edges)))]
            return "".join(f"{name} ::= {body}\n" for name, body in table_rules(names, table, class_text).items())
    except PatternError as error:
        raise GrammarError(f"the regular expression cannot be used: {error}", field="guided_regex") from None
    return f"root ::= {' | '.join(chain_text(items, class_text) for items, _, _ in options)}\n"


def choice_to_gbnf(choices: list[str]) -> str:
    """A grammar of exactly these texts. Raises GrammarError if there are none."""
    if not choices or not all(isinstance(choice, str) for choice in choices):
        raise GrammarError(f"choices must be a non-empty list of strings, got {choices!r}", field="guided_choice")
    return f"root ::= {' | '.join(quoted(choice) for choice in choices)}\n"


def anchored_options(pattern: Pattern) -> list[tuple[list[Pattern], bool, bool]] | None:
    """The alternatives of `pattern` without their outer anchors: (items, anchored at the start, at the end).

    None when there are anchors elsewhere, which only a machine can follow.
    """
    found: list[tuple[list[Pattern], bool, bool]] = []
    for option in _flat_options(pattern):
        items = list(_flat_items(option))
        starts = ends = False
        while items and items[0] == Anchor(True):
            starts = True
            del items[0]
        while items and items[-1] == Anchor(False):
            ends = True
            del items[-1]
        if any(map(_has_anchor, items)):
            return None
        found.append((items, starts, ends))
    return found


def search_text(pattern: Pattern, spell: Spell, anything: str) -> str | None:
    """GBNF for the texts in which `pattern` is found; `anything`: an expression for any text. None: use a machine."""
    options = anchored_options(pattern)
    if options is None:
        return None
    texts = []
    for items, starts, ends in options:
        parts = [*([] if starts else [anything]), chain_text(items, spell), *([] if ends else [anything])]
        texts.append(" ".join(part for part in parts if part))
    return f"({' | '.join(texts)})" if len(texts) > 1 else texts[0]


def chain_text(items: list[Pattern], spell: Spell) -> str:
    """GBNF for some patterns in a row, without anchors."""
    return " ".join(_text(item, spell) for item in items) or '""'


def _text(pattern: Pattern, spell: Spell) -> str:
    if isinstance(pattern, Points):
        return spell(pattern.ranges)
    if isinstance(pattern, Chain):
        return f"({chain_text(list(pattern.items), spell)})"
    if isinstance(pattern, Either):
        return f"({' | '.join(_text(option, spell) for option in pattern.options)})"
    if isinstance(pattern, Times):
        return _text(pattern.item, spell) + count_text(pattern.low, pattern.high)
    raise PatternError("an anchor inside of a pattern")


def count_text(low: int, high: int | None) -> str:
    """The GBNF suffix for `low` to `high` times."""
    short = {(0, None): "*", (1, None): "+", (0, 1): "?", (1, 1): ""}.get((low, high))
    if short is not None:
        return short
    return f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"


def table_rules(names: Sequence[str], table: Table, spell: Spell) -> dict[str, str]:
    """A machine as rules, one for each state, by name; `names[0]` is where it starts."""
    bodies = {}
    for state, edges in enumerate(table.edges):
        options = [f"{spell(ranges)} {names[target]}" for ranges, target in edges]
        if table.final[state]:
            options.append('""')
        bodies[names[state]] = " | ".join(options) or "[]"
    return bodies


def _flat_options(pattern: Pattern) -> Iterator[Pattern]:
    if isinstance(pattern, Either):
        for option in pattern.options:
            yield from _flat_options(option)
    elif isinstance(pattern, Chain) and len(pattern.items) == 1:
        yield from _flat_options(pattern.items[0])
    else:
        yield pattern


def _flat_items(pattern: Pattern) -> Iterator[Pattern]:
    if isinstance(pattern, Chain):
        for item in pattern.items:
            yield from _flat_items(item)
    else:
        yield pattern


def _has_anchor(pattern: Pattern) -> bool:
    if isinstance(pattern, Chain):
        return any(map(_has_anchor, pattern.items))
    if isinstance(pattern, Either):
        return any(map(_has_anchor, pattern.options))
    return _has_anchor(pattern.item) if isinstance(pattern, Times) else isinstance(pattern, Anchor)
