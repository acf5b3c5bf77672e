"""Strings and the names of properties, as rules over their characters."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from llama.grammar.pattern.ecma import Pattern, PatternError, Points, Times, parse_pattern
from llama.grammar.pattern.machine import Length, Not, Part, Search, Words, explore, lengths
from llama.grammar.pattern.rules import anchored_options, chain_text, count_text, search_text, table_rules
from llama.grammar.pattern.spelling import json_class
from llama.grammar.schema import keywords
from llama.grammar.schema.formats import format_pattern
from llama.grammar.schema.keywords import NOT_IN, NOT_PATTERN
from llama.grammar.schema.location import Location
from llama.grammar.schema.rules import Rules
from llama.grammar.schema.within import format_within
from llama.grammar.syntax import complement

EXACT = 24  # characters up to which a format and a length are combined exactly; longer ones as within.py says


@dataclass(slots=True)
class Text:
    """What is asked of a string. Patterns come with their place, for error messages."""

    low: int = 0
    high: int | None = None
    found: dict[str, tuple[Location, str]] = field(default_factory=dict)  # patterns found somewhere in it
    whole: dict[str, tuple[Location, str]] = field(default_factory=dict)  # patterns that match all of it
    never: dict[str, tuple[Location, str]] = field(default_factory=dict)  # patterns found nowhere in it
    not_in: list[str] = field(default_factory=list)

    @property
    def n_patterns(self) -> int:
        return len(self.found) + len(self.whole) + len(self.never)


def text_of(parts: Sequence[Location]) -> Text:
    """What all `parts` ask of a string together."""
    text = Text()
    for part in parts:
        text.low = max(text.low, keywords.count(part, "minLength") or 0)
        high = keywords.count(part, "maxLength")
        text.high = high if text.high is None else text.high if high is None else min(text.high, high)
        pattern = part.schema.get("pattern")
        if pattern is not None:
            text.found[_checked(part, pattern, "pattern")] = (part, "pattern")
        named = format_pattern(part.schema.get("format"))
        if named is not None:
            text.whole[named] = (part, "format")
        for pattern in part.schema.get(NOT_PATTERN, []):
            text.never[_checked(part, pattern, "pattern")] = (part, "pattern")
        text.not_in += [value for value in part.schema.get(NOT_IN, []) if isinstance(value, str)]
    return text


def _checked(part: Location, pattern: object, keyword: str) -> str:
    if not isinstance(pattern, str):
        part.refuse(keyword, f"must be a string, got {pattern!r}")
    return pattern


def string_expression(rules: Rules, text: Text, at: Location, wish: str) -> str:
    """GBNF for a JSON string that is all that `text` asks, quotes included."""
    inside = _inside(rules, text, at, wish)
    if inside == "char*":
        return rules.base("string")
    return f'"\\"" {inside} "\\""' if inside else '"\\"\\""'


def _inside(rules: Rules, text: Text, at: Location, wish: str) -> str:
    if text.high is not None and text.low > text.high:
        return "[]"
    if not text.n_patterns and not text.not_in:
        rules.base("char")
        return "" if text.high == 0 else "char" + count_text(text.low, text.high)
    if not text.n_patterns and text.low == 0 and text.high is None:
        return _other_words(rules, text.not_in, wish)
    if text.n_patterns == 1 and not text.never and not text.not_in:
        plain = _plain_pattern(rules, text)
        if plain is not None:
            return plain
    return _combined(rules, text, at, wish)


def _plain_pattern(rules: Rules, text: Text) -> str | None:
    """One pattern spelled out as it stands, if the length asks for nothing more."""
    (source, (part, keyword)), whole = next(
        (item, kept is text.whole) for kept in (text.found, text.whole) for item in kept.items()
    )
    tree = _parsed(part, keyword, source)
    rules.base("char")
    if whole:
        low, high = lengths(tree)
        fits = low >= text.low and (text.high is None or (high is not None and high <= text.high))
        if not fits and text.high is not None and text.high > EXACT:
            within = format_within(part.schema.get("format"), text.low, text.high)
            if within is not None:
                fits, tree = True, parse_pattern(within)
        return chain_text([tree], json_class) if fits and anchored_options(tree) is not None else None
    options = anchored_options(tree)
    if options is None:
        return None
    if all(_fits(option, text) for option in options):
        return search_text(tree, json_class, "char*")
    if len(options) == 1 and options[0][1] and options[0][2]:
        return _narrowed(options[0][0], text)
    return None


def _fits(option: tuple[list[Pattern], bool, bool], text: Text) -> bool:
    items, starts, ends = option
    sizes = [lengths(item) for item in items]
    if sum(low for low, _ in sizes) < text.low:
        return False
    if text.high is None:
        return True
    highs = [high for _, high in sizes if high is not None]
    return starts and ends and len(highs) == len(sizes) and sum(highs) <= text.high


def _narrowed(items: list[Pattern], text: Text) -> str | None:
    """A chain in which one repetition takes up the length and all else is of fixed size, with its count narrowed."""
    sizes = [lengths(item) for item in items]
    loose = [i for i, (low, high) in enumerate(sizes) if low != high]
    if len(loose) != 1:
        return None
    item = items[loose[0]]
    if not isinstance(item, Times) or not isinstance(item.item, Points):
        return None
    fixed = sum(low for i, (low, _) in enumerate(sizes) if i != loose[0])
    low = max(item.low, text.low - fixed)
    high = item.high if text.high is None else min(text.high - fixed, text.high if item.high is None else item.high)
    if high is not None and high < low:
        return "[]"
    narrowed = [*items[: loose[0]], Times(item.item, low, high), *items[loose[0] + 1 :]]
    return chain_text(narrowed, json_class)


def _combined(rules: Rules, text: Text, at: Location, wish: str) -> str:
    """Several conditions, as one machine that watches them all."""
    parts: list[Part] = [
        Search(_parsed(part, keyword, source), whole=kept is text.whole)
        for kept in (text.found, text.whole)
        for source, (part, keyword) in kept.items()
    ]
    parts += [Not(Search(_parsed(part, keyword, source))) for source, (part, keyword) in text.never.items()]
    if text.not_in:
        parts.append(Not(Words(text.not_in)))
    if text.low or text.high is not None:
        parts.append(Length(text.low, text.high))
    try:
        table = explore(parts)
    except PatternError as error:
        part, keyword = next(iter([*text.found.values(), *text.whole.values(), *text.never.values()]), (at, ""))
        part.refuse(keyword, str(error))
    names = [rules.name(wish) for _ in table.edges]
    for name, body in table_rules(names, table, lambda ranges: rules.shared("chars", json_class(ranges))).items():
        rules.set(name, body)
    return names[0]


def _parsed(part: Location, keyword: str, source: str) -> Pattern:
    try:
        return parse_pattern(source)
    except PatternError as error:
        part.refuse(keyword, str(error))


def _other_words(rules: Rules, words: Sequence[str], wish: str) -> str:
    """Any text but these words: a tree of their beginnings, and at each place a way out."""
    rules.base("char")
    distinct = sorted(set(words))
    beginnings: dict[str, list[str]] = {"": []}
    for word in distinct:
        for size in range(1, len(word) + 1):
            if word[:size] not in beginnings:
                beginnings[word[:size]] = []
                beginnings[word[: size - 1]].append(word[size - 1])
    ends = set(distinct)
    names = {beginning: rules.name(wish) for beginning in beginnings}
    for beginning, letters in beginnings.items():
        points = sorted(map(ord, letters))
        options = [f"{json_class(((point, point),))} {names[beginning + chr(point)]}" for point in points]
        away = complement(tuple((point, point) for point in points))
        options.append(f"{rules.shared('chars', json_class(away))} char*")
        if beginning not in ends:
            options.append('""')
        rules.set(names[beginning], " | ".join(options))
    return names[""]
