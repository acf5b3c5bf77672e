"""A grammar as a network of nodes over bytes: each rule a small machine that may call the others.

A node is built with the node that follows it, so the network grows from back to front and equal endings are
shared. Counted repetitions are nodes that count, they are not unrolled (short ones of a single element are).
"""

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field

from llama.errors import GrammarError
from llama.grammar.gbnf import error_at
from llama.grammar.syntax import (
    Choice,
    Class,
    Expression,
    Grammar,
    Literal,
    OneToken,
    Ranges,
    Reference,
    Repeat,
    Sequence,
)
from llama.grammar.utf8 import ByteSequence, byte_sequences

END, BYTES, SPLIT, CALL, COUNT, TOKEN, ACCEPT, UNKNOWN = range(8)
"""Kinds of nodes: the end of a rule, a choice by the next byte, a free choice, a call of a rule, a counted loop, a
whole token; ACCEPT is reached when the root rule ends, UNKNOWN when a stack that was cut short runs out."""

END_NODE, ACCEPT_NODE, UNKNOWN_NODE = range(3)
UNBOUNDED = -1
UNROLL_LIMIT = 32
BLANK = Class(((9, 10), (13, 13), (32, 32)))
MOST_BLANKS = 4
NODE_LIMIT = 4_000_000

Build = Generator[tuple[Expression, int], int, int]


@dataclass(slots=True)
class Automaton:
    """The network. `key`s number what can be called: the rules first, then the bodies of counted loops."""

    kind: list[int] = field(default_factory=lambda: [END, ACCEPT, UNKNOWN])
    following: list[int] = field(default_factory=lambda: [0, 0, 0])  # CALL, COUNT, TOKEN: the node after it
    argument: list[int] = field(default_factory=lambda: [0, 0, 0])  # CALL, COUNT: key; TOKEN: index of the token
    edges: list[tuple[tuple[int, int], ...]] = field(default_factory=lambda: [(), (), ()])  # (byte set or -1, node)
    starts: list[int] = field(default_factory=list)  # by key
    names: list[str] = field(default_factory=list)  # by key; "" for a loop's body
    low: list[int] = field(default_factory=list)  # by key, 0 for rules
    high: list[int] = field(default_factory=list)
    sets: list[int] = field(default_factory=list)  # byte sets as 256-bit numbers
    tokens: list[tuple[str, bool]] = field(default_factory=list)
    spaced_root: int = 0  # the node before `root` that also lets a few blanks pass


def build(grammar: Grammar) -> Automaton:
    """The network of all rules that `root` (key 0) needs. Raises GrammarError for a rule that does not exist."""
    return _Builder(grammar).automaton()


class _Builder:
    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._out = Automaton()
        self._keys: dict[str, int] = {}
        self._waiting: list[str] = []
        self._known: dict[tuple[object, ...], int] = {}
        self._set_ids: dict[int, int] = {}
        self._sequences: dict[Ranges, tuple[ByteSequence, ...]] = {}

    def automaton(self) -> Automaton:
        self._key("root", 0)
        while self._waiting:
            name = self._waiting.pop()
            self._out.starts[self._keys[name]] = self._entry(self._grammar.rules[name], END_NODE)
        blanks = Sequence((Repeat(BLANK, 0, MOST_BLANKS), Reference("root")))
        self._out.spaced_root = self._entry(blanks, ACCEPT_NODE)
        return self._out

    def _key(self, name: str, offset: int) -> int:
        key = self._keys.get(name)
        if key is None:
            if name not in self._grammar.rules:
                raise error_at(self._grammar.text, offset, f"there is no rule `{name}`")
            key = self._keys[name] = self._new_key(name)
            self._waiting.append(name)
        return key

    def _new_key(self, name: str, low: int = 0, high: int = 0) -> int:
        out = self._out
        out.starts.append(END_NODE)
        out.names.append(name)
        out.low.append(low)
        out.high.append(high)
        return len(out.starts) - 1

    # Nodes

    def _node(self, kind: int, following: int, argument: int, edges: tuple[tuple[int, int], ...]) -> int:
        out = self._out
        if len(out.kind) >= NODE_LIMIT:
            raise GrammarError("grammar: it is too large")
        out.kind.append(kind)
        out.following.append(following)
        out.argument.append(argument)
        out.edges.append(edges)
        return len(out.kind) - 1

    def _shared(self, kind: int, following: int, argument: int, edges: tuple[tuple[int, int], ...] = ()) -> int:
        same = (kind, following, argument, edges)
        node = self._known.get(same)
        if node is None:
            node = self._known[same] = self._node(kind, following, argument, edges)
        return node

    def _set_id(self, bits: int) -> int:
        number = self._set_ids.get(bits)
        if number is None:
            number = self._set_ids[bits] = len(self._out.sets)
            self._out.sets.append(bits)
        return number

    def _split(self, targets: Iterable[int]) -> int:
        unique = tuple(dict.fromkeys(targets))
        return unique[0] if len(unique) == 1 else self._shared(SPLIT, 0, 0, tuple((-1, target) for target in unique))

    def _literal(self, text: bytes, following: int) -> int:
        for byte in reversed(text):
            following = self._shared(BYTES, 0, 0, ((self._set_id(1 << byte), following),))
        return following

    def _class(self, ranges: Ranges, following: int) -> int:
        same = (BYTES, ranges, following)
        node = self._known.get(same)
        if node is None:
            node = self._known[same] = self._bytes(byte_sequences(ranges), following)
        return node

    def _bytes(self, sequences: Iterable[ByteSequence], following: int) -> int:
        """A node that reads one of `sequences`; they part at the first byte only, so the depth is at most 4."""
        by_tail: dict[ByteSequence, int] = {}
        for sequence in sequences:
            low, high = sequence[0]
            bits = (1 << (high + 1)) - (1 << low)
            by_tail[sequence[1:]] = by_tail.get(sequence[1:], 0) | bits
        edges = tuple(
            (self._set_id(bits), self._bytes([tail], following) if tail else following)
            for tail, bits in by_tail.items()
        )
        return self._shared(BYTES, 0, 0, edges)

    # Expressions, without recursion: a builder yields (expression, following) and is sent back the entry node

    def _entry(self, expression: Expression, following: int) -> int:
        stack: list[Build] = []
        answer = self._leaf(expression, following)
        if answer is not None:
            return answer
        stack.append(self._inner(expression, following))
        sent: int | None = None
        while stack:
            try:
                asked = stack[-1].send(sent) if sent is not None else next(stack[-1])
            except StopIteration as stop:
                stack.pop()
                sent = stop.value
                continue
            sent = self._leaf(*asked)
            if sent is None:
                stack.append(self._inner(*asked))
        assert sent is not None
        return sent

    def _leaf(self, expression: Expression, following: int) -> int | None:
        """The entry of an expression that has no others inside it; None if it has."""
        if isinstance(expression, Literal):
            return self._literal(expression.text, following)
        if isinstance(expression, Class):
            return self._class(expression.ranges, following)
        if isinstance(expression, Reference):
            return self._shared(CALL, following, self._key(expression.name, expression.offset))
        if isinstance(expression, OneToken):
            self._out.tokens.append((expression.name, expression.negated))
            return self._node(TOKEN, following, len(self._out.tokens) - 1, ())
        return None

    def _inner(self, expression: Expression, following: int) -> Build:
        if isinstance(expression, Sequence):
            return self._sequence(expression, following)
        if isinstance(expression, Choice):
            return self._choice(expression, following)
        assert isinstance(expression, Repeat)
        item, low, high = expression.item, expression.low, expression.high
        if high == 0:
            return self._sequence(Sequence(()), following)
        if high is None and low <= 1:
            return self._loop(item, low, following)
        single = isinstance(item, Literal | Class | Reference | OneToken)
        if high == 1 or (single and max(low, high or 0) <= UNROLL_LIMIT):
            return self._unrolled(item, low, high, following)
        return self._counted(item, low, high, following)

    def _sequence(self, expression: Sequence, following: int) -> Build:
        for item in reversed(expression.items):
            entry = self._leaf(item, following)
            following = (yield item, following) if entry is None else entry
        return following

    def _choice(self, expression: Choice, following: int) -> Build:
        targets: list[int] = []
        for option in expression.options:
            entry = self._leaf(option, following)
            targets.append((yield option, following) if entry is None else entry)
        return self._split(targets)

    def _loop(self, item: Expression, low: int, following: int) -> Build:
        again = self._node(SPLIT, 0, 0, ())
        entry = yield item, again
        self._out.edges[again] = ((-1, entry), (-1, following))
        return again if low == 0 else entry

    def _unrolled(self, item: Expression, low: int, high: int | None, following: int) -> Build:
        if high is None:
            following = yield Repeat(item, 0, None), following
        for _ in range(0 if high is None else high - low):
            entry = yield item, following
            following = self._split((entry, following))
        for _ in range(low):
            following = yield item, following
        return following

    def _counted(self, item: Expression, low: int, high: int | None, following: int) -> Build:
        key = self._new_key("", low, UNBOUNDED if high is None else high)
        entry = yield item, END_NODE
        self._out.starts[key] = entry
        return self._node(COUNT, following, key, ())


def reachable_ends(automaton: Automaton, *, reading: bool) -> list[bool]:
    """For each node, whether the end of its rule can be reached from it; without `reading`, by reading nothing."""
    waits: list[list[int]] = [[] for _ in automaton.kind]
    missing = [1] * len(automaton.kind)
    for node, kind in enumerate(automaton.kind):
        if kind in (CALL, COUNT):
            key = automaton.argument[node]
            waits[automaton.following[node]].append(node)
            if kind == CALL or automaton.low[key] > 0:
                waits[automaton.starts[key]].append(node)
                missing[node] = 2
        elif kind == TOKEN and reading:
            waits[automaton.following[node]].append(node)
        elif kind == SPLIT or (kind == BYTES and reading):
            for _, target in automaton.edges[node]:
                waits[target].append(node)
    reached = [kind in (END, ACCEPT, UNKNOWN) for kind in automaton.kind]
    ready = [node for node, yes in enumerate(reached) if yes]
    while ready:
        for node in waits[ready.pop()]:
            missing[node] -= 1
            if missing[node] == 0:
                reached[node] = True
                ready.append(node)
    return reached
