"""Numbers within bounds, as rules over their digits.

A number is written as digits with an optional fraction; what is very small or very large may also be written with an
exponent, as serialisers do.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from llama.grammar.pattern.machine import Part, Table, explore
from llama.grammar.pattern.rules import table_rules
from llama.grammar.pattern.spelling import class_text
from llama.grammar.schema import keywords
from llama.grammar.schema.keywords import NOT_IN
from llama.grammar.schema.kinds import FRACTION, INTEGER, NUMBER, kind_of
from llama.grammar.schema.location import Location
from llama.grammar.schema.rules import MOST_DIGITS, Rules
from llama.grammar.syntax import Ranges

DIGITS: Ranges = ((0x30, 0x39),)
POINT = ord(".")
CLASSES: Sequence[Ranges] = [((digit, digit),) for digit in range(0x30, 0x3A)] + [((POINT, POINT),)]
LARGEST_STEP = 5000
MOST_PRECISE = 16  # decimal digits that a double tells apart nearly everywhere
LEAST_EXPONENT, LARGEST_EXPONENT = 16, 299  # serialisers write an exponent from 1e16 on


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the parts of a schema say about a number."""

    low: Decimal | None = None
    low_open: bool = False
    high: Decimal | None = None
    high_open: bool = False
    steps: tuple[Decimal, ...] = ()
    excluded: tuple[Decimal, ...] = ()

    def negated(self) -> "Bounds":
        """The bounds of the number without its sign, when it is negative."""
        low, high = (None if limit is None else -limit for limit in (self.low, self.high))
        return Bounds(high, self.high_open, low, self.low_open, self.steps, tuple(-value for value in self.excluded))

    def from_zero(self, *, open_end: bool) -> "Bounds":
        """The same for numbers from zero on; open_end: zero itself is left out."""
        if self.low is None or self.low < 0 or (self.low == 0 and open_end and not self.low_open):
            return replace(self, low=Decimal(0), low_open=open_end)
        return self

    @property
    def empty(self) -> bool:
        """True if nothing is within."""
        if self.low is None or self.high is None:
            return False
        return self.low > self.high or (self.low == self.high and (self.low_open or self.high_open))


def bounds_of(parts: Sequence[Location]) -> Bounds:
    """The bounds that all `parts` set together."""
    found = Bounds()
    for part in parts:
        for limit, is_open in _limits(part, "minimum", "exclusiveMinimum"):
            if found.low is None or (limit, is_open) > (found.low, found.low_open):
                found = replace(found, low=limit, low_open=is_open)
        for limit, is_open in _limits(part, "maximum", "exclusiveMaximum"):
            if found.high is None or (-limit, is_open) > (-found.high, found.high_open):
                found = replace(found, high=limit, high_open=is_open)
        excluded = [value for value in part.schema.get(NOT_IN, []) if kind_of(value) in NUMBER]
        found = replace(found, excluded=found.excluded + tuple(Decimal(repr(value)) for value in excluded))
        step = keywords.number(part, "multipleOf")
        if step is not None:
            if step <= 0:
                part.refuse("multipleOf", f"must be greater than 0, got {step}")
            if Decimal(_scaled(step)[0]) > LARGEST_STEP:
                part.refuse("multipleOf", f"steps over {LARGEST_STEP} units are not supported, got {step}")
            if step not in found.steps:
                found = replace(found, steps=(*found.steps, step))
    return found


def _limits(part: Location, plain: str, exclusive: str) -> list[tuple[Decimal, bool]]:
    limits = []
    flag = part.schema.get(exclusive)
    limit = keywords.number(part, plain)
    if limit is not None:
        limits.append((limit, flag is True))  # draft 4 wrote a boolean beside the bound
    if flag is not None and not isinstance(flag, bool):
        limits.append((keywords.number(part, exclusive) or Decimal(0), True))
    return limits


def number_expression(rules: Rules, kinds: frozenset[str], bounds: Bounds, wish: str) -> str:
    """GBNF for the numbers of `kinds` within `bounds`."""
    if bounds == Bounds() and INTEGER in kinds:
        return rules.base("number" if FRACTION in kinds else "integer")
    options = _signed(rules, kinds, bounds.from_zero(open_end=False), wish, "")
    options += _signed(rules, kinds, bounds.negated().from_zero(open_end=True), wish, '"-" ')
    return rules.add(wish, " | ".join(options) or "[]")


def _signed(rules: Rules, kinds: frozenset[str], bounds: Bounds, wish: str, sign: str) -> list[str]:
    """The numbers on one side of zero, `bounds` being those of their digits."""
    if bounds.empty:
        return []
    parts: list[Part] = [_Written(fraction=FRACTION in kinds)]
    if INTEGER not in kinds:
        parts.append(_NotWhole())
    if bounds.low is not None and (bounds.low > 0 or bounds.low_open):
        parts.append(_Compared(bounds.low, frozenset({1} if bounds.low_open else {0, 1})))
    if bounds.high is not None:
        parts.append(_Compared(bounds.high, frozenset({-1} if bounds.high_open else {-1, 0})))
    parts += [_Stepped(step) for step in bounds.steps]
    parts += [_Compared(value, frozenset({-1, 1})) for value in bounds.excluded if value >= 0]
    if FRACTION in kinds and (
        INTEGER not in kinds or bounds.excluded or bounds.high_open or (bounds.low and bounds.low_open)
    ):
        parts.append(_Precise())
    options = [sign + _table_rule(rules, explore(parts), wish)]
    if (
        FRACTION in kinds
        and not bounds.steps
        and all(value == 0 or 1 <= abs(value) < 10**16 for value in bounds.excluded)
    ):
        options += [sign + text for text in _with_exponent(rules, INTEGER in kinds, bounds, wish)]
    return options


def _with_exponent(rules: Rules, whole: bool, bounds: Bounds, wish: str) -> list[str]:
    """The spellings with an exponent that are surely within bounds."""
    found: list[tuple[str, int, int]] = []
    low = bounds.low or Decimal(0)
    if low == 0 and (bounds.high is None or bounds.high > 0):
        size = 0 if bounds.high is None else max(0, -bounds.high.adjusted())
        found.append(('"-"', size + 1 + (bounds.high_open and bounds.high is not None), LARGEST_EXPONENT))
    if whole:
        first = max(LEAST_EXPONENT, low.adjusted() + 1)
        last = LARGEST_EXPONENT if bounds.high is None else min(LARGEST_EXPONENT, bounds.high.adjusted() - 1)
        found.append(('"+"?', first, last))
    texts = []
    for sign, first, last in found:
        if first <= last:
            limits = [_Written(fraction=False), *_between(first, last)]
            exponent = _table_rule(rules, explore(limits), f"{wish}-exponent")
            texts.append(f'[1-9] ("." [0-9]{{1,{MOST_DIGITS}}})? [eE] {sign} [0]? {exponent}')
    return texts


def _between(low: int, high: int) -> list[Part]:
    return [_Compared(Decimal(low), frozenset({0, 1})), _Compared(Decimal(high), frozenset({-1, 0}))]


def _table_rule(rules: Rules, table: Table, wish: str) -> str:
    """A machine over digits as rules; a state that takes any more digits is written as a bounded count."""
    names = [rules.name(f"{wish}-n") for _ in table.edges]
    bodies = table_rules(names, table, class_text)
    for state, edges in enumerate(table.edges):
        endless = table.final[state] and edges == [(DIGITS, state)]
        rules.set(names[state], f"[0-9]{{0,{MOST_DIGITS}}}" if endless else bodies[names[state]])
    return names[0]


def _scaled(step: Decimal) -> tuple[int, int]:
    """(m, d) such that step = m / 10^d, with d as small as can be."""
    _, digits, exponent = step.normalize().as_tuple()
    assert isinstance(exponent, int)
    units = int("".join(map(str, digits)))
    return (units * 10**exponent, 0) if exponent >= 0 else (units, -exponent)


class _Written:
    """Digits without needless zeros in front, and a fraction if there may be one."""

    start: Hashable = "start"
    classes = CLASSES

    def __init__(self, *, fraction: bool) -> None:
        self._fraction = fraction

    def step(self, state: Hashable, point: int) -> Hashable | None:
        if point == POINT:
            return "point" if self._fraction and state in ("zero", "digits") else None
        if not 0x30 <= point <= 0x39 or state == "zero":
            return None
        if state == "start":
            return "zero" if point == 0x30 else "digits"
        return "digits" if state == "digits" else "fraction"

    def accepts(self, state: Hashable) -> bool:
        return state in ("zero", "digits", "fraction")


class _NotWhole:
    """A fraction that is not zero."""

    start: Hashable = 0
    classes = CLASSES

    def step(self, state: Hashable, point: int) -> Hashable | None:
        if point == POINT:
            return 1
        return 2 if state == 1 and point != 0x30 else state

    def accepts(self, state: Hashable) -> bool:
        return state == 2


class _Precise:
    """No more digits than a double tells apart, where a reader that rounds would leave the bounds."""

    start: Hashable = (0, MOST_PRECISE)
    classes = CLASSES

    def step(self, state: Hashable, point: int) -> Hashable | None:
        """States: (digits read, digits allowed); a zero before the point is free."""
        assert isinstance(state, tuple)
        read, most = state
        if point == POINT:
            return state
        if read == 0 and point == 0x30:
            most += 1
        return (read + 1, most) if read < most else None

    def accepts(self, state: Hashable) -> bool:
        return True


class _Compared:
    """A number whose order to `limit` is one of `allowed` (-1 below, 0 equal, 1 above)."""

    start: Hashable = (0, 0)
    classes = CLASSES

    def __init__(self, limit: Decimal, allowed: frozenset[int]) -> None:
        whole, _, fraction = f"{limit:f}".partition(".")
        self._whole, self._fraction = whole, fraction.rstrip("0")
        self._allowed = allowed

    def step(self, state: Hashable, point: int) -> Hashable | None:
        """States: (digits read, order so far), ("f", fraction digits equal so far), ("is", order)."""
        assert isinstance(state, tuple)
        if state[0] == "is":
            return state if state[1] in self._allowed else None
        if state[0] == "long":
            return ("is", 1) if point == POINT else state
        if point == POINT:
            order = self._order(state) if state[0] < len(self._whole) or state[1] else 0
            return ("is", order) if order else ("f", 0)
        digit = chr(point)
        if state[0] == "f":
            expected = self._fraction[state[1] : state[1] + 1] or "0"
            if digit == expected:
                return ("f", min(state[1] + 1, len(self._fraction)))
            return ("is", 1 if digit > expected else -1)
        read, order = state
        if read == len(self._whole):
            return ("long",) if 1 in self._allowed else None
        expected = self._whole[read]
        return (read + 1, order or (digit > expected) - (digit < expected))

    def accepts(self, state: Hashable) -> bool:
        assert isinstance(state, tuple)
        return self._order(state) in self._allowed

    def _order(self, state: tuple[Hashable, ...]) -> int:
        if state[0] == "is":
            return int(str(state[1]))
        if state[0] == "long":
            return 1
        if state[0] == "f":
            return 0 if state[1] == len(self._fraction) else -1
        if state[0] != len(self._whole):
            return -1
        return int(str(state[1])) or (-1 if self._fraction else 0)


class _Stepped:
    """A multiple of `step`."""

    start: Hashable = (0, -1)
    classes = CLASSES

    def __init__(self, step: Decimal) -> None:
        self._units, self._places = _scaled(step)

    def step(self, state: Hashable, point: int) -> Hashable | None:
        """States: (remainder of what was read, digits of the fraction; -1 before the point)."""
        assert isinstance(state, tuple)
        rest, places = state
        if point == POINT:
            return (rest, 0)
        digit = point - 0x30
        if places == self._places:
            return state if digit == 0 else None
        return ((rest * 10 + digit) % self._units, places + (places >= 0))

    def accepts(self, state: Hashable) -> bool:
        assert isinstance(state, tuple)
        rest, places = state
        return bool(rest * 10 ** (self._places - max(places, 0)) % self._units == 0)
