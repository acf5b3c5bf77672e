"""Machines over code points that can be combined: all of several patterns, none of some words, a length.

A part answers three questions: where it starts, where a code point leads, and whether the text may end there. `explore`
walks all parts side by side and gives one table.
"""

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from llama.grammar.pattern.ecma import Anchor, Chain, Either, Pattern, PatternError, Points, Times
from llama.grammar.syntax import ANY, LAST_CODE_POINT, Ranges, normalised

MOST_STATES = 20_000
MOST_NODES = 20_000


class Part(Protocol):
    """One condition on a text."""

    @property
    def start(self) -> Hashable:
        """The state before the first character."""
        ...

    @property
    def classes(self) -> Sequence[Ranges]:
        """The sets of code points that it tells apart."""
        ...

    def step(self, state: Hashable, point: int) -> Hashable | None:
        """The state after `point`; None when no continuation fits."""
        ...

    def accepts(self, state: Hashable) -> bool:
        """True if the text may end here."""
        ...


@dataclass(frozen=True, slots=True)
class Table:
    """A machine written out: edges (code points, state) and whether the text may end, by state; it starts at 0."""

    edges: list[list[tuple[Ranges, int]]]
    final: list[bool]


class Search:
    """The texts in which a pattern is found, as `RegExp.test` finds it; `whole`: that it matches from end to end."""

    def __init__(self, pattern: Pattern, *, whole: bool = False) -> None:
        self._free: list[list[int]] = []
        self._at_start: list[list[int]] = []
        self._at_end: list[list[int]] = []
        self._reads: list[list[tuple[Ranges, int]]] = []
        first, last = self._node(), self._node()
        self._last = last
        self._add(pattern, first, last)
        if not whole:
            self._reads[first].append((ANY, first))
            self._reads[last].append((ANY, last))
        self.classes = [ranges for reads in self._reads for ranges, _ in reads]
        self.start: frozenset[int] = self._closure({first}, at_start=True, at_end=False)

    def step(self, state: Hashable, point: int) -> frozenset[int] | None:
        assert isinstance(state, frozenset)
        reached = {
            target
            for node in state
            for ranges, target in self._reads[node]
            if any(low <= point <= high for low, high in ranges)
        }
        return self._closure(reached, at_start=False, at_end=False) if reached else None

    def accepts(self, state: Hashable) -> bool:
        assert isinstance(state, frozenset)
        return self._last in self._closure(set(state), at_start=state is self.start, at_end=True)

    def _node(self) -> int:
        if len(self._free) >= MOST_NODES:
            raise PatternError("the pattern is too large to be combined with other conditions")
        self._free.append([])
        self._at_start.append([])
        self._at_end.append([])
        self._reads.append([])
        return len(self._free) - 1

    def _add(self, pattern: Pattern, first: int, last: int) -> None:
        """Lay `pattern` between two nodes."""
        if isinstance(pattern, Points):
            self._reads[first].append((pattern.ranges, last))
        elif isinstance(pattern, Anchor):
            (self._at_start if pattern.at_start else self._at_end)[first].append(last)
        elif isinstance(pattern, Chain):
            for item in pattern.items:
                following = self._node()
                self._add(item, first, following)
                first = following
            self._free[first].append(last)
        elif isinstance(pattern, Either):
            for option in pattern.options:
                self._add(option, first, last)
        else:
            self._repeat(pattern, first, last)

    def _repeat(self, pattern: Times, first: int, last: int) -> None:
        for _ in range(pattern.low):
            following = self._node()
            self._add(pattern.item, first, following)
            first = following
        if pattern.high is None:
            loop, back = self._node(), self._node()
            self._free[first].append(loop)
            self._add(pattern.item, loop, back)
            self._free[back].append(loop)
            first = loop
        else:
            for _ in range(pattern.high - pattern.low):
                self._free[first].append(last)
                following = self._node()
                self._add(pattern.item, first, following)
                first = following
        self._free[first].append(last)

    def _closure(self, nodes: set[int], *, at_start: bool, at_end: bool) -> frozenset[int]:
        pending = list(nodes)
        while pending:
            node = pending.pop()
            for target in (
                self._free[node] + (self._at_start[node] if at_start else []) + (self._at_end[node] if at_end else [])
            ):
                if target not in nodes:
                    nodes.add(target)
                    pending.append(target)
        return frozenset(nodes)


class Not:
    """The texts that another part does not hold for."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self.start: Hashable = (part.start,)
        self.classes = part.classes

    def step(self, state: Hashable, point: int) -> Hashable:
        assert isinstance(state, tuple)
        if not state:
            return state
        following = self._part.step(state[0], point)
        return () if following is None else (following,)

    def accepts(self, state: Hashable) -> bool:
        assert isinstance(state, tuple)
        return not state or not self._part.accepts(state[0])


class Words:
    """Some words and nothing else."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = frozenset(words)
        self._beginnings = {word[:size] for word in self._words for size in range(len(word) + 1)}
        self.start: Hashable = ""
        self.classes = [((ord(letter), ord(letter)),) for letter in sorted({c for word in self._words for c in word})]

    def step(self, state: Hashable, point: int) -> Hashable | None:
        text = f"{state}{chr(point)}"
        return text if text in self._beginnings else None

    def accepts(self, state: Hashable) -> bool:
        return state in self._words


class Length:
    """The texts of `low` to `high` characters."""

    def __init__(self, low: int, high: int | None) -> None:
        self._low, self._high = low, high
        self.start: Hashable = 0
        self.classes: list[Ranges] = [ANY]

    def step(self, state: Hashable, point: int) -> Hashable | None:
        assert isinstance(state, int)
        if self._high is None:
            return min(state + 1, self._low)
        return state + 1 if state < self._high else None

    def accepts(self, state: Hashable) -> bool:
        assert isinstance(state, int)
        return state >= self._low


def atoms(classes: Iterable[Ranges]) -> list[Ranges]:
    """The finest cut of all code points that no class cuts further: a list of sets of code points."""
    distinct = list(dict.fromkeys(classes))
    borders = sorted({0} | {edge for ranges in distinct for low, high in ranges for edge in (low, high + 1)})
    found: dict[tuple[bool, ...], list[tuple[int, int]]] = {}
    for at, low in enumerate(borders):
        if low > LAST_CODE_POINT:
            continue
        high = borders[at + 1] - 1 if at + 1 < len(borders) else LAST_CODE_POINT
        held = tuple(_holds(ranges, low) for ranges in distinct)
        found.setdefault(held, []).append((low, high))
    cut = [normalised(runs) for runs in found.values()]
    return [ranges for ranges in cut if ranges]


def explore(parts: Sequence[Part], most_states: int = MOST_STATES) -> Table:
    """All `parts` at once, without the states that lead nowhere. Raises PatternError when there are too many states."""
    letters = atoms(ranges for part in parts for ranges in part.classes)
    first = tuple(part.start for part in parts)
    numbers: dict[tuple[Hashable, ...], int] = {first: 0}
    order = [first]
    steps: list[dict[int, list[Ranges]]] = []
    for state in order:
        following: dict[int, list[Ranges]] = {}
        for ranges in letters:
            target = _side_by_side(parts, state, ranges[0][0])
            if target is not None:
                if target not in numbers:
                    numbers[target] = len(order)
                    order.append(target)
                    if len(order) > most_states:
                        raise PatternError("the conditions on this text are too many to be combined")
                following.setdefault(numbers[target], []).append(ranges)
        steps.append(following)
    final = [all(part.accepts(at) for part, at in zip(parts, state, strict=True)) for state in order]
    return _trimmed(steps, final)


def _side_by_side(parts: Sequence[Part], state: tuple[Hashable, ...], point: int) -> tuple[Hashable, ...] | None:
    reached: list[Hashable] = []
    for part, at in zip(parts, state, strict=True):
        following = part.step(at, point)
        if following is None:
            return None
        reached.append(following)
    return tuple(reached)


def _trimmed(steps: list[dict[int, list[Ranges]]], final: list[bool]) -> Table:
    """Only states from which an end can be reached keep their edges."""
    before: list[list[int]] = [[] for _ in steps]
    for state, following in enumerate(steps):
        for target in following:
            before[target].append(state)
    useful = list(final)
    pending = [state for state, yes in enumerate(final) if yes]
    while pending:
        for state in before[pending.pop()]:
            if not useful[state]:
                useful[state] = True
                pending.append(state)
    edges = [
        [
            (normalised([run for ranges in classes for run in ranges]), target)
            for target, classes in following.items()
            if useful[target]
        ]
        for following in steps
    ]
    return _merged(Table(edges, final))


def _merged(table: Table) -> Table:
    """The same machine with equal states made one: states are told apart until no more can be."""
    group = [int(final) for final in table.final]
    n_groups = len(set(group))
    while True:
        signs: dict[object, int] = {}
        found = []
        for state, edges in enumerate(table.edges):
            sign = (group[state], frozenset(_by_group(edges, group)))
            found.append(signs.setdefault(sign, len(signs)))
        if len(signs) == n_groups:
            break
        group, n_groups = found, len(signs)
    first = {number: state for state, number in reversed(list(enumerate(found)))}
    return Table(
        [_by_group(table.edges[first[number]], found) for number in range(n_groups)],
        [table.final[first[number]] for number in range(n_groups)],
    )


def _by_group(edges: list[tuple[Ranges, int]], group: list[int]) -> list[tuple[Ranges, int]]:
    """Edges to groups instead of states, one for each group."""
    runs: dict[int, list[tuple[int, int]]] = {}
    for ranges, target in edges:
        runs.setdefault(group[target], []).extend(ranges)
    return [(normalised(ranges), number) for number, ranges in runs.items()]


def _holds(ranges: Ranges, point: int) -> bool:
    at = bisect_right(ranges, (point, LAST_CODE_POINT + 1)) - 1
    return at >= 0 and ranges[at][0] <= point <= ranges[at][1]


def lengths(pattern: Pattern) -> tuple[int, int | None]:
    """The least and the largest number of characters that `pattern` matches (None: no bound), anchors aside."""
    if isinstance(pattern, Points):
        return 1, 1
    if isinstance(pattern, Anchor):
        return 0, 0
    if isinstance(pattern, Times):
        low, high = lengths(pattern.item)
        if high == 0:
            return 0, 0
        return low * pattern.low, None if high is None or pattern.high is None else high * pattern.high
    parts = [lengths(part) for part in (pattern.items if isinstance(pattern, Chain) else pattern.options)]
    highs = [high for _, high in parts if high is not None]
    unbounded = len(highs) < len(parts)
    if isinstance(pattern, Chain):
        return sum(low for low, _ in parts), None if unbounded else sum(highs)
    return min(low for low, _ in parts), None if unbounded else max(highs)
