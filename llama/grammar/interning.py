"""The tables of interned links and states: equal ones get one number."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from llama.grammar.program import Ints
from llama.jit import borrowing

Longs = NDArray[np.int64]

DEAD = 0
BOTTOM_LINK, UNKNOWN_LINK = 0, 1
MAY_END, CUT_SHORT = 1, 2  # flags of a state: the text may end; its stack was cut and has run out
SEEDS = 4  # flag of places that a state is reached from: interned in the same way, and their first step leads there
NO_ROOM, NO_SCRATCH = -1, -2  # results instead of a state: grow the tables, then ask again

MOST_MIDDLES = 64

ALIAS = -1  # a member that stands for all frames of its link; the frame of a loop is -2 - its node
LOCAL = 1 << 30  # links from here on are local ones

FIRST_FRAME, EVENED = range(2)  # columns of Arena.link
FIRST_HEAD, STATE_FLAGS, SHORT, EVEN = range(4)  # columns of Arena.state
FRAME_NODE, FRAME_COUNT, FRAME_LINK, NEXT = range(4)  # columns of Arena.frame, Scratch.sorted and Scratch.frames
KEY, NEWEST, EMPTY, NUMBER = range(4)  # columns of Scratch.locals

N_LINKS, N_FRAMES, N_STATES, N_HEADS = range(4)  # places in Arena.used
N_VISITED, N_DONE, N_LOCAL, N_PARENTS, FLAGS, FULL, N_FOUND, N_CUT, N_ALIVE, N_LONGEST = range(
    10
)  # places in Scratch.used


class Arena(NamedTuple):
    """Interned links and states, and the steps between states.     -1 in a table: free, or not worked out yet"""

    used: Longs  # (4,)
    link: Ints  # (links + 1, 2): first frame; the link with its counts made equal
    frame: Ints  # (frames, 3): node, count, link below
    link_table: Ints  # hash table of link numbers
    state: Ints  # (states + 1, 4): first head; flags; with counts made equal and stacks cut off; with counts made equal
    head: Longs  # (heads,) node << 32 | link
    state_table: Ints  # hash table of state numbers
    following: Ints  # (states, classes)
    shortened: Ints  # (links + 1, depths)
    loops: Longs  # (states,) groups of characters that lead back to it


class Scratch(NamedTuple):
    """What a step needs while it is worked out."""

    used: Longs  # (10,), the last one: bytes of the longest token
    visited: Longs  # (visits, 2): node << 32 | link of all that was reached, in order; its place in `seen`
    seen: Longs  # hash table of what was reached, -1 = free
    local_of: Ints  # by key: its local link, -1 = none yet
    locals: Ints  # (local links, 4): key, newest frame or -1, 1 if its rule was found to be empty, link number or -1
    frames: Ints  # (frames, 4) of local links: node, count, link, next frame or -1
    order: Ints
    sorted: Ints  # (frames, 3): node, count, link
    heads: Longs
    middles: Ints  # (2 * MOST_MIDDLES,) states inside of a character: after the bytes so far, and after one more


@borrowing
def wide(number: int) -> int:
    """The same number as a machine word: a function is compiled anew for every width that it is called with."""
    return np.int64(number)  # type: ignore[return-value]


@borrowing
def _sort_frames(frames: Ints, n: int) -> int:
    """Sort the first `n` frames and drop doubles; returns how many remain."""
    gap = n // 2
    while gap > 0:
        for i in range(gap, n):
            node, count, link = frames[i, 0], frames[i, 1], frames[i, 2]
            j = i
            while j >= gap:
                k = j - gap
                if frames[k, 0] < node or (
                    frames[k, 0] == node and (frames[k, 1] < count or (frames[k, 1] == count and frames[k, 2] <= link))
                ):
                    break
                frames[j, 0], frames[j, 1], frames[j, 2] = frames[k, 0], frames[k, 1], frames[k, 2]
                j = k
            frames[j, 0], frames[j, 1], frames[j, 2] = node, count, link
        gap //= 2
    kept = 0
    for i in range(n):
        node, count, link = frames[i, 0], frames[i, 1], frames[i, 2]
        last = kept - 1
        if kept > 0 and node == frames[last, 0] and count == frames[last, 1] and link == frames[last, 2]:
            continue
        frames[kept, 0], frames[kept, 1], frames[kept, 2] = node, count, link
        kept += 1
    return kept


@borrowing
def _sort_heads(heads: Longs, n: int) -> int:
    """Sort the first `n` heads and drop doubles; returns how many remain."""
    gap = n // 2
    while gap > 0:
        for i in range(gap, n):
            head = heads[i]
            j = i
            while j >= gap and heads[j - gap] > head:
                heads[j] = heads[j - gap]
                j -= gap
            heads[j] = head
        gap //= 2
    kept = 0
    for i in range(n):
        if kept == 0 or heads[i] != heads[kept - 1]:
            heads[kept] = heads[i]
            kept += 1
    return kept


@borrowing
def _frames_code(frames: Ints, first: int, n: int) -> int:
    code = n
    for i in range(first, first + n):
        code = code * 31 + wide(frames[i, 0]) * 7919 + wide(frames[i, 1]) * 613 + wide(frames[i, 2]) * 104729
        code &= 0xFFFFFFFFFF
    return code ^ (code >> 17)


@borrowing
def _heads_code(heads: Longs, first: int, n: int, flags: int) -> int:
    code = n * 8 + flags
    for i in range(first, first + n):
        code = (code * 31 + (heads[i] >> 32) * 7919 + (heads[i] & 0xFFFFFFFF) * 104729) & 0xFFFFFFFFFF
    return code ^ (code >> 17)


@borrowing
def fill_tables(arena: Arena) -> None:
    """Enter all links and states into hash tables that are still empty."""
    last = arena.link_table.shape[0] - 1
    for link in range(arena.used[N_LINKS]):
        first, end = wide(arena.link[link, FIRST_FRAME]), wide(arena.link[link + 1, FIRST_FRAME])
        slot = _frames_code(arena.frame, first, end - first) & last
        while arena.link_table[slot] >= 0:
            slot = (slot + 1) & last
        arena.link_table[slot] = link
    last = arena.state_table.shape[0] - 1
    for state in range(1, arena.used[N_STATES]):
        first, end = wide(arena.state[state, FIRST_HEAD]), wide(arena.state[state + 1, FIRST_HEAD])
        slot = _heads_code(arena.head, first, end - first, wide(arena.state[state, STATE_FLAGS])) & last
        while arena.state_table[slot] >= 0:
            slot = (slot + 1) & last
        arena.state_table[slot] = state


@borrowing
def intern_link(arena: Arena, scratch: Scratch, n: int) -> int:
    """The number of the link whose `n` frames are collected in `scratch.sorted`; NO_ROOM when the tables are full."""
    frames, kept = scratch.sorted, arena.frame
    n = _sort_frames(frames, n)
    last = arena.link_table.shape[0] - 1
    slot = _frames_code(frames, wide(0), n) & last
    while arena.link_table[slot] >= 0:
        link = wide(arena.link_table[slot])
        first = wide(arena.link[link, FIRST_FRAME])
        if arena.link[link + 1, FIRST_FRAME] - first == n:
            same = True
            for i in range(n):
                at = first + i
                if kept[at, 2] != frames[i, 2] or kept[at, 0] != frames[i, 0] or kept[at, 1] != frames[i, 1]:
                    same = False
                    break
            if same:
                return link
        slot = (slot + 1) & last
    link, first = wide(arena.used[N_LINKS]), wide(arena.used[N_FRAMES])
    if link + 1 >= arena.link.shape[0] or first + n > kept.shape[0]:
        return NO_ROOM
    for i in range(n):
        kept[first + i, 0], kept[first + i, 1], kept[first + i, 2] = frames[i, 0], frames[i, 1], frames[i, 2]
    arena.link[link + 1, FIRST_FRAME] = first + n
    arena.link_table[slot] = link
    arena.used[N_LINKS] += 1
    arena.used[N_FRAMES] += n
    return link


@borrowing
def intern_state(arena: Arena, scratch: Scratch, n: int, flags: int) -> int:
    """The number of the state whose `n` heads are in `scratch.heads` (node << 32 | link, any order)."""
    heads = scratch.heads
    n = _sort_heads(heads, n)
    if n == 0 and flags == 0:
        return DEAD
    last = arena.state_table.shape[0] - 1
    slot = _heads_code(heads, wide(0), n, flags) & last
    while arena.state_table[slot] >= 0:
        state = wide(arena.state_table[slot])
        first = wide(arena.state[state, FIRST_HEAD])
        if arena.state[state, STATE_FLAGS] == flags and arena.state[state + 1, FIRST_HEAD] - first == n:
            same = True
            for i in range(n):
                if arena.head[first + i] != heads[i]:
                    same = False
                    break
            if same:
                return state
        slot = (slot + 1) & last
    state, first = wide(arena.used[N_STATES]), wide(arena.used[N_HEADS])
    if state + 1 >= arena.state.shape[0] or first + n > arena.head.shape[0]:
        return NO_ROOM
    for i in range(n):
        arena.head[first + i] = heads[i]
    arena.state[state + 1, FIRST_HEAD] = first + n
    arena.state[state, STATE_FLAGS] = flags
    arena.state_table[slot] = state
    arena.used[N_STATES] += 1
    arena.used[N_HEADS] += n
    return state
