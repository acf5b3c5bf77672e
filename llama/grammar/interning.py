"""The tables of interned links and states: equal ones get one number."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from llama.grammar.program import Ints
from llama.jit import compiled

Longs = NDArray[np.int64]

DEAD = 0
BOTTOM_LINK, UNKNOWN_LINK = 0, 1
MAY_END, CUT_SHORT = 1, 2  # flags of a state: the text may end; its stack was cut and has run out
SEEDS = (
    4  # flag of places from which a state is reached, which are interned in the same way; its first step leads there
)
NO_ROOM, NO_SCRATCH = -1, -2  # results instead of a state: grow the tables, then ask again

ALIAS = -1  # a member that stands for all frames of its link; the frame of a loop is -2 - its node
LOCAL = 1 << 30  # links from here on are local ones

KEY, NEWEST, EMPTY, NUMBER = range(4)  # columns of Scratch.locals
NEXT, NODE, COUNT, LINK = range(4)  # columns of Scratch.frames

N_LINKS, N_MEMBERS, N_STATES, N_HEADS = range(4)  # places in Arena.used
N_VISITED, N_DONE, N_LOCAL, N_PARENTS, FLAGS, FULL, N_FOUND, N_CUT, N_ALIVE = range(9)  # places in Scratch.used


class Arena(NamedTuple):
    """Interned links and states, and the steps between states."""

    used: Longs  # (4,)
    link_first: Ints  # members of link i are link_first[i] .. link_first[i + 1]
    frame_node: Ints
    frame_count: Ints
    frame_link: Ints
    link_table: Ints  # hash table of link numbers, -1 = free
    state_first: Ints
    head_node: Ints
    head_link: Ints
    flags: Ints
    state_table: Ints
    following: Ints  # (states, classes), -1 = not worked out yet
    shortened: Ints  # (links, depths), -1 = not worked out yet
    evened: Ints  # (links,) the link with its counts made equal, -1 = not worked out yet
    short: Ints  # (states,) the state with counts made equal and stacks cut off, -1 = not worked out yet
    even: Ints  # (states,) the state with its counts made equal, -1 = not worked out yet
    loops: Longs  # (states,) groups of characters that lead back to it, -1 = not worked out yet


class Scratch(NamedTuple):
    """What a step needs while it is worked out. Few tables, since each one costs at every call of compiled code."""

    used: Longs  # (9,)
    visited: Longs  # node << 32 | link of all that was reached, in order
    slots: Ints  # where each of them is in `seen`
    seen: Longs  # hash table of what was reached, -1 = free
    local_of: Ints  # by key: its local link, -1 = none yet
    locals: (
        Ints  # (local links, 4): key, newest frame or -1, 1 if its rule was found to be empty, interned number or -1
    )
    frames: Ints  # (frames, 4) of local links: next frame or -1, node, count, link
    order: Ints
    sorted: Ints  # (frames, 3): node, count, link
    heads: Longs
    path: Ints
    cut: Ints  # tree nodes at which a stack that was cut off ran out
    longest: int  # bytes of the longest token


@compiled
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


@compiled
def _add_frame_code(code: int, node: int, count: int, link: int) -> int:
    return (code * 31 + node * 7919 + count * 613 + link * 104729) & 0xFFFFFFFFFF


@compiled
def _state_code(n: int, flags: int) -> int:
    return int(n) * 8 + int(flags)


@compiled
def _add_head(code: int, node: int, link: int) -> int:
    return (code * 31 + node * 7919 + link * 104729) & 0xFFFFFFFFFF


@compiled
def fill_tables(arena: Arena) -> None:
    """Enter all links and states into hash tables that are still empty."""
    last = arena.link_table.shape[0] - 1
    for link in range(arena.used[N_LINKS]):
        first = int(arena.link_first[link])
        n = int(arena.link_first[link + 1]) - first
        code = n
        for i in range(first, first + n):
            code = _add_frame_code(code, int(arena.frame_node[i]), int(arena.frame_count[i]), int(arena.frame_link[i]))
        slot = (code ^ (code >> 17)) & last
        while arena.link_table[slot] >= 0:
            slot = (slot + 1) & last
        arena.link_table[slot] = link
    last = arena.state_table.shape[0] - 1
    for state in range(1, arena.used[N_STATES]):
        first, end = int(arena.state_first[state]), int(arena.state_first[state + 1])
        code = _state_code(end - first, arena.flags[state])
        for i in range(first, end):
            code = _add_head(code, int(arena.head_node[i]), int(arena.head_link[i]))
        slot = (code ^ (code >> 17)) & last
        while arena.state_table[slot] >= 0:
            slot = (slot + 1) & last
        arena.state_table[slot] = state


@compiled
def intern_link(arena: Arena, scratch: Scratch, n: int) -> int:
    """The number of the link whose `n` frames are collected in `scratch.sorted`; NO_ROOM when the tables are full."""
    frames = scratch.sorted
    n = _sort_frames(frames, n)
    last = arena.link_table.shape[0] - 1
    code = n
    for i in range(n):
        code = _add_frame_code(code, int(frames[i, 0]), int(frames[i, 1]), int(frames[i, 2]))
    slot = (code ^ (code >> 17)) & last
    while arena.link_table[slot] >= 0:
        link = int(arena.link_table[slot])
        first = int(arena.link_first[link])
        if arena.link_first[link + 1] - first == n:
            same = True
            for i in range(n):
                if (
                    arena.frame_link[first + i] != frames[i, 2]
                    or arena.frame_node[first + i] != frames[i, 0]
                    or arena.frame_count[first + i] != frames[i, 1]
                ):
                    same = False
                    break
            if same:
                return link
        slot = (slot + 1) & last
    link, first = int(arena.used[N_LINKS]), int(arena.used[N_MEMBERS])
    if link + 1 >= arena.link_first.shape[0] or first + n > arena.frame_node.shape[0]:
        return NO_ROOM
    for i in range(n):
        arena.frame_node[first + i] = frames[i, 0]
        arena.frame_count[first + i] = frames[i, 1]
        arena.frame_link[first + i] = frames[i, 2]
    arena.link_first[link + 1] = first + n
    arena.link_table[slot] = link
    arena.used[N_LINKS] += 1
    arena.used[N_MEMBERS] += n
    return link


@compiled
def intern_state(arena: Arena, scratch: Scratch, n: int, flags: int) -> int:
    """The number of the state whose `n` heads are in `scratch.heads` (node << 32 | link, any order)."""
    heads = scratch.heads
    heads[:n].sort()
    kept = 0
    for i in range(n):
        if kept == 0 or heads[i] != heads[kept - 1]:
            heads[kept] = heads[i]
            kept += 1
    if kept == 0 and flags == 0:
        return DEAD
    code = _state_code(kept, flags)
    for i in range(kept):
        code = _add_head(code, int(heads[i] >> 32), int(heads[i] & 0xFFFFFFFF))
    last = arena.state_table.shape[0] - 1
    slot = (code ^ (code >> 17)) & last
    while arena.state_table[slot] >= 0:
        state = int(arena.state_table[slot])
        first = int(arena.state_first[state])
        if arena.flags[state] == flags and arena.state_first[state + 1] - first == kept:
            same = True
            for i in range(kept):
                if (int(arena.head_node[first + i]) << 32) | int(arena.head_link[first + i]) != heads[i]:
                    same = False
                    break
            if same:
                return state
        slot = (slot + 1) & last
    state, first = int(arena.used[N_STATES]), int(arena.used[N_HEADS])
    if state >= arena.flags.shape[0] or first + kept > arena.head_node.shape[0]:
        return NO_ROOM
    for i in range(kept):
        arena.head_node[first + i] = heads[i] >> 32
        arena.head_link[first + i] = heads[i] & 0xFFFFFFFF
    arena.state_first[state + 1] = first + kept
    arena.flags[state] = flags
    arena.state_table[slot] = state
    arena.used[N_STATES] += 1
    arena.used[N_HEADS] += kept
    return state
