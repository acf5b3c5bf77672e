"""A grammar ready to run: flat arrays of nodes over classes of bytes."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from llama.errors import GrammarError
from llama.grammar.automaton import (
    BYTES,
    CALL,
    COUNT,
    END,
    SPLIT,
    TOKEN,
    Automaton,
    build,
    reachable_ends,
)
from llama.grammar.gbnf import parse_gbnf
from llama.grammar.left_recursion import left_recursive_rules

if TYPE_CHECKING:
    from llama.grammar.matcher import GrammarConstraint
    from llama.grammar.trie import TokenTrie

Ints = NDArray[np.int32]


KIND, FOLLOWING, ARGUMENT, FIRST_EDGE = range(4)  # columns of Network.node
EDGE_SET, EDGE_NODE = range(2)  # columns of Network.edge
START, LOW, HIGH = range(3)  # columns of Network.key


class Network(NamedTuple):
    """The nodes as compiled code reads them. Few tables, since each one costs at every call of compiled code.

    N nodes, E edges, K keys, S byte sets, C classes of bytes
    """

    node: Ints  # (N + 1, 4): kind, node after it, argument, first edge; the last row only ends the edges
    edge: Ints  # (E, 2): byte set, node
    member: NDArray[np.bool_]  # (S, C) whether a byte set holds a class
    class_of: Ints  # (256,)
    key: Ints  # (K, 3): first node; least count of a loop, 0 where its body may be empty; greatest, -1: no bound


class Program:
    """A compiled grammar. Immutable; every thread may use it."""

    def __init__(self, network: Network, tokens: tuple[tuple[str, bool], ...], spaced_root: int) -> None:
        self.network = network
        self.tokens = tokens
        self.spaced_root = spaced_root

    def constraint(self, trie: "TokenTrie") -> "GrammarConstraint":
        """A walk that stands at the beginning. Raises GrammarError for a `<token>` that the vocabulary has not."""
        return trie.matcher(self).constraint()

    @property
    def n_classes(self) -> int:
        return int(self.network.member.shape[1])

    def resolve_tokens(self, texts: Mapping[str, int]) -> Ints:
        """Ids of the `<token>` elements, -1 - id for negated ones. Raises GrammarError for one that does not exist."""
        ids = []
        for name, negated in self.tokens:
            token = int(name[2:-2]) if name.startswith("<[") and name.endswith("]>") else texts.get(name, -1)
            if token < 0:
                raise GrammarError(f"grammar: {name} is not one token of this model's vocabulary")
            ids.append(-1 - token if negated else token)
        return np.array(ids, np.int32)


@lru_cache(maxsize=64)
def compile_grammar(text: str) -> Program:
    """The program of a GBNF text, cached by the text. Raises GrammarError: it says what is wrong, and where."""
    automaton = build(parse_gbnf(text))
    empty = reachable_ends(automaton, reading=False)
    cycle = left_recursive_rules(automaton, empty)
    if cycle:
        raise GrammarError(
            f"grammar: left recursion: `{cycle[0]}` calls itself before reading anything"
            + (f" (through {', '.join(f'`{name}`' for name in cycle[1:])})" if len(cycle) > 1 else "")
            + "; write the repetition with * or + instead"
        )
    alive = reachable_ends(automaton, reading=True)
    if not alive[automaton.starts[0]]:
        raise GrammarError("grammar: `root` matches no finite text")
    return Program(_flatten(automaton, alive, empty), tuple(automaton.tokens), automaton.spaced_root)


def _flatten(automaton: Automaton, alive: list[bool], empty: list[bool]) -> Network:
    member, class_of = _byte_classes(automaton.sets)
    edges = [
        [edge for edge in edges if alive[edge[1]]] if kind in (BYTES, SPLIT) else []
        for kind, edges in zip(automaton.kind, automaton.edges, strict=True)
    ]
    flat = [edge for of_node in edges for edge in of_node]
    hollow = [empty[start] for start in automaton.starts]
    # a node whose callee never ends leads nowhere, and is left without a way out
    kind = [k if alive[node] or k not in (CALL, COUNT, TOKEN) else SPLIT for node, k in enumerate(automaton.kind)]
    first_edge = np.cumsum([0, *map(len, edges)])
    low = np.where(hollow, 0, automaton.low)
    return Network(
        _columns([*kind, END], [*automaton.following, 0], [*automaton.argument, 0], first_edge),
        _columns([number for number, _ in flat] or [0], [node for _, node in flat] or [0]),
        member,
        class_of,
        _columns(automaton.starts, low, automaton.high),
    )


def _columns(*columns: Sequence[int] | NDArray[np.int64]) -> Ints:
    return np.column_stack(columns).astype(np.int32)


def _byte_classes(sets: list[int]) -> tuple[NDArray[np.bool_], Ints]:
    """Bytes that no set tells apart are one class: (S, C) membership, (256,) class of a byte."""
    rows = b"".join(bits.to_bytes(32, "little") for bits in sets) or bytes(32)
    bits = np.unpackbits(np.frombuffer(rows, np.uint8).reshape(-1, 32), axis=1, bitorder="little")  # (S, 256)
    columns, class_of = np.unique(np.packbits(bits, axis=0), axis=1, return_inverse=True)
    n_sets = bits.shape[0]
    member = np.unpackbits(columns, axis=0)[:n_sets].astype(np.bool_)
    return np.ascontiguousarray(member), class_of.reshape(-1).astype(np.int32)
