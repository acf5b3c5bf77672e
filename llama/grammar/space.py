"""The states that a grammar has been in so far, and the steps between them: tables that grow as texts are read."""

import itertools
import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from llama.errors import GrammarError
from llama.grammar.automaton import ACCEPT_NODE, UNKNOWN_NODE
from llama.grammar.closure import begin, finish, visit
from llama.grammar.interning import (
    BOTTOM_LINK,
    DEAD,
    EVENED,
    FIRST_FRAME,
    FIRST_HEAD,
    MAY_END,
    MOST_MIDDLES,
    N_ALIVE,
    N_CUT,
    N_LONGEST,
    N_STATES,
    NO_SCRATCH,
    SHORT,
    STATE_FLAGS,
    UNKNOWN_LINK,
    Arena,
    Scratch,
    fill_tables,
    intern_link,
    intern_state,
)
from llama.grammar.program import START, Network, Program
from llama.grammar.shortening import KEPT_FRAMES, shortened
from llama.grammar.tree import TreeNodes
from llama.grammar.walk import Course, allow, allow_again, read

LARGEST_SCRATCH = 1 << 20
_NUMBERS = itertools.count()
FIRST_SIZES = {"links": 256, "frames": 512, "states": 256, "heads": 1024}


class Space:
    """States and steps of one program over one vocabulary. A lock makes it safe for several threads."""

    def __init__(self, program: Program, longest_token: int) -> None:
        self.network = program.network
        self._n_classes = program.n_classes
        self._longest = longest_token
        self._scratch = _scratch(len(self.network.key), 256, longest_token)
        self._arena = _arena(**FIRST_SIZES, classes=self._n_classes)
        self._course = _course(0, longest_token)
        self.lock = threading.Lock()
        self._make_first_links()
        self.start = self.after([(int(self.network.key[0, START]), BOTTOM_LINK)])
        self.spaced_start = self.after([(program.spaced_root, BOTTOM_LINK)])
        self.nbytes = self._size()  # memory that the tables take
        self.number = next(_NUMBERS)

    @property
    def n_states(self) -> int:
        return int(self._arena.used[N_STATES])

    def may_end(self, state: int) -> bool:
        return bool(self._arena.state[state, STATE_FLAGS] & MAY_END)

    def waits_for_more(self, state: int) -> bool:
        """True if something other than the end may follow."""
        return bool(self._arena.state[state, FIRST_HEAD] < self._arena.state[state + 1, FIRST_HEAD])

    def heads(self, state: int) -> list[tuple[int, int]]:
        """(node, link) of each head."""
        where = slice(*self._arena.state[state : state + 2, FIRST_HEAD].tolist())
        return [(head >> 32, head & 0xFFFFFFFF) for head in self._arena.head[where].tolist()]

    def read(self, state: int, text: bytes) -> int:
        """The state after `text`, DEAD if it does not fit."""
        data = np.frombuffer(text, np.uint8)
        return self._retry(lambda net, arena, scratch: read(net, arena, scratch, state, data)) if text else state

    def adopt(self, other: "Space", state: int) -> int:
        """The state of this space that equals `state` of another space of the same program."""
        links: dict[int, int] = {BOTTOM_LINK: BOTTOM_LINK, UNKNOWN_LINK: UNKNOWN_LINK}
        heads = other.heads(state)
        pending = [link for _, link in heads]
        while pending:
            link = pending[-1]
            frames = [] if link in links else other.frames(link)
            below = [under for _, _, under in frames if under not in links]
            pending += below
            if not below:
                pending.pop()
                if link not in links:
                    links[link] = self._link([(node, count, links[under]) for node, count, under in frames])
        flags = int(other._arena.state[state, STATE_FLAGS])
        return self._state([(node, links[link]) for node, link in heads], flags)

    def frames(self, link: int) -> list[tuple[int, int, int]]:
        """(node, count, link) of each frame of a link."""
        where = slice(*self._arena.link[link : link + 2, FIRST_FRAME].tolist())
        return [(node, count, below) for node, count, below in self._arena.frame[where].tolist()]

    def _link(self, frames: list[tuple[int, int, int]]) -> int:
        def ask(net: Network, arena: Arena, scratch: Scratch) -> int:
            if len(frames) > len(scratch.sorted):
                return NO_SCRATCH
            for i, (node, count, link) in enumerate(frames):
                scratch.sorted[i] = node, count, link
            return intern_link(arena, scratch, len(frames))

        return self._retry(ask)

    def _state(self, heads: list[tuple[int, int]], flags: int) -> int:
        def ask(net: Network, arena: Arena, scratch: Scratch) -> int:
            if len(heads) > len(scratch.heads):
                return NO_SCRATCH
            for i, (node, link) in enumerate(heads):
                scratch.heads[i] = node << 32 | link
            return intern_state(arena, scratch, len(heads), flags)

        return self._retry(ask)

    def after(self, heads: list[tuple[int, int]]) -> int:
        """The state of being at all these (node, link) places at once."""

        def reach(net: Network, arena: Arena, scratch: Scratch) -> int:
            begin(scratch)
            for node, link in heads:
                visit(scratch.used, scratch.visited, scratch.seen, node, link)
            return finish(net, arena, scratch)

        return self._retry(reach)

    def shortened(self, state: int) -> int:
        """A state that allows the same tokens, but for those that get down to where its stack is cut off."""
        short = int(self._arena.state[state, SHORT])
        if short < 0:
            short = self._retry(lambda net, arena, scratch: shortened(net, arena, scratch, state))
        return short

    def allow(self, state: int, tree: TreeNodes) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Runs of tokens (from, to, from, to ...) that can be read in `state`, which is a shortened one, and the nodes
        of the tree at which a stack that was cut off has run out."""
        if len(self._course.cut) < len(tree.parent):
            self._course = _course(len(tree.parent), self._longest)
        course = self._course
        self._scratch.used[N_CUT] = self._scratch.used[N_ALIVE] = 0
        course.path[0] = state
        at = 0
        while at < len(tree.parent):
            at, why = allow(self.network, self._arena, self._scratch, tree, course, at)
            if why < 0:
                self._grow(why)
        n_found, n_cut = self._scratch.used[N_ALIVE], self._scratch.used[N_CUT]
        return course.found[:n_found], course.cut[:n_cut].copy()

    def allow_again(self, state: int, tree: TreeNodes, nodes: NDArray[np.int32]) -> NDArray[np.int32]:
        """Those of `nodes` (in order, each with all nodes above it) that can be read in `state`."""
        course = self._course
        self._scratch.used[N_ALIVE] = 0
        course.path[0] = state
        at = 0
        while at < len(nodes):
            at, why = allow_again(self.network, self._arena, self._scratch, tree, course, nodes, at)
            if why < 0:
                self._grow(why)
        return course.found[: self._scratch.used[N_ALIVE]]

    def _size(self) -> int:
        return sum(table.nbytes for table in self._arena) + sum(
            table.nbytes for table in self._scratch if isinstance(table, np.ndarray)
        )

    def _retry(self, ask: Callable[[Network, Arena, Scratch], int]) -> int:
        while True:
            state = int(ask(self.network, self._arena, self._scratch))
            if state >= DEAD:
                return state
            self._grow(state)

    def _grow(self, why: int) -> None:
        if why == NO_SCRATCH:
            size = 2 * len(self._scratch.visited)
            if size > LARGEST_SCRATCH:
                raise GrammarError("grammar: it can be read in too many ways at once")
            old = self._scratch
            self._scratch = _scratch(len(self.network.key), size, self._longest)
            self._scratch.used[N_CUT], self._scratch.used[N_ALIVE] = old.used[N_CUT], old.used[N_ALIVE]
        else:
            self._arena = _grown(self._arena)
        self.nbytes = self._size()

    def _make_first_links(self) -> None:
        for node in (ACCEPT_NODE, UNKNOWN_NODE):
            scratch = self._scratch
            scratch.sorted[0] = node, 0, node - ACCEPT_NODE
            intern_link(self._arena, scratch, 1)
        # state 0 is the dead one: no heads, may not end
        self._arena.used[N_STATES] = 1
        self._arena.following[DEAD] = DEAD


def _ints(size: int, value: int = -1) -> NDArray[np.int32]:
    return np.full(size, value, np.int32)


def _scratch(n_keys: int, size: int, longest: int) -> Scratch:
    used = np.zeros(10, np.int64)
    used[N_LONGEST] = longest
    return Scratch(
        used=used,
        visited=np.zeros((size, 2), np.int64),
        seen=np.full(4 * size, -1, np.int64),
        local_of=_ints(n_keys),
        locals=np.full((min(n_keys, size), 4), -1, np.int32),
        frames=np.full((size, 4), -1, np.int32),
        order=_ints(size),
        sorted=np.full((size, 3), -1, np.int32),
        heads=np.zeros(size, np.int64),
        middles=_ints(2 * MOST_MIDDLES),
    )


def _course(n_nodes: int, longest: int) -> Course:
    return Course(_ints(longest + 1), np.empty(2 * n_nodes + 2, np.int32), np.empty(n_nodes, np.int32))


def _arena(links: int, frames: int, states: int, heads: int, classes: int) -> Arena:
    arena = Arena(
        used=np.zeros(4, np.int64),
        link=np.full((links + 1, 2), -1, np.int32),
        frame=np.zeros((frames, 3), np.int32),
        link_table=_ints(4 * links),
        state=np.full((states + 1, 4), -1, np.int32),
        head=np.zeros(heads, np.int64),
        state_table=_ints(4 * states),
        following=np.full((states, classes), -1, np.int32),
        shortened=np.full((links + 1, KEPT_FRAMES + 1), -1, np.int32),
        loops=np.full(states, -1, np.int64),
    )
    arena.link[0, FIRST_FRAME] = arena.state[1, FIRST_HEAD] = 0
    arena.state[DEAD] = arena.loops[DEAD] = 0
    arena.shortened[:, 0] = UNKNOWN_LINK
    for end in (BOTTOM_LINK, UNKNOWN_LINK):  # links that stand for themselves
        arena.shortened[end] = arena.link[end, EVENED] = end
    return arena


def _grown(old: Arena) -> Arena:
    """The same tables, doubled where less than half is free; all of them, if that is none: one entry may be large."""
    capacities = (len(old.link) - 1, len(old.frame), len(old.state) - 1, len(old.head))
    scarce = [2 * used > capacity for used, capacity in zip(old.used.tolist(), capacities, strict=True)]
    links, frames, states, heads = (
        2 * capacity if short or not any(scarce) else capacity
        for short, capacity in zip(scarce, capacities, strict=True)
    )
    new = _arena(links, frames, states, heads, old.following.shape[1])
    for name, table in old._asdict().items():
        if name not in ("link_table", "state_table"):
            getattr(new, name)[: len(table)] = table
    fill_tables(new)
    return new
