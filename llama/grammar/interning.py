"""The tables of interned links and states: equal ones get one number."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from llama.grammar.compiled import compiled
from llama.grammar.program import Ints

Longs = NDArray[np.int64]

DEAD = 0
BOTTOM_LINK, UNKNOWN_LINK = 0, 1
MAY_END, CUT_SHORT = 1, 2  # flags of a state: the text may end; its stack was cut and has run out
NO_ROOM, NO_SCRATCH = -1, -2  # results instead of a state: grow the tables, then ask again

ALIAS = -1  # a member that stands for all frames of its link; the frame of a loop is -2 - its node
LOCAL = 1 << 30  # links from here on are local ones

N_LINKS, N_MEMBERS, N_STATES, N_HEADS = range(4)  # places in Arena.used
EPOCH, N_WORK, N_SEEN, N_LOCAL, N_PARENTS, FLAGS, FULL, N_FOUND, N_CUT, N_ALIVE = range(10)  # places in Scratch.used


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
    short: Ints  # (states,) the state that stands for it, -1 = not worked out yet
    loops: Longs  # (states,) groups of characters that lead back to it, -1 = not worked out yet


class Scratch(NamedTuple):
    """What a step needs while it is worked out."""

    used: Longs  # (10,)
    work_node: Ints
    work_link: Ints
    seen_epoch: Longs
    seen: Longs
    key_epoch: Longs  # by key
    key_local: Ints
    local_parent: Ints  # by local link: its newest member, -1 = none
    local_popped: NDArray[np.bool_]
    local_link: Ints  # its interned number, -1 = not yet
    parent_next: Ints
    parent_node: Ints
    parent_count: Ints
    parent_link: Ints
    order: Ints
    sort_node: Ints
    sort_count: Ints
    sort_link: Ints
    heads: Longs
    path: Ints
    longest: int  # bytes of the longest token
    cut: Ints  # tree nodes at which a stack that was cut off ran out


@compiled
def _sort_frames(scratch: Scratch, n: int) -> int:
    """Sort the `n` collected frames and drop doubles; returns how many remain."""
    nodes, counts, links = scratch.sort_node, scratch.sort_count, scratch.sort_link
    gap = n // 2
    while gap > 0:
        for i in range(gap, n):
            node, count, link = nodes[i], counts[i], links[i]
            j = i
            while j >= gap:
                k = j - gap
                if nodes[k] < node or (
                    nodes[k] == node and (counts[k] < count or (counts[k] == count and links[k] <= link))
                ):
                    break
                nodes[j], counts[j], links[j] = nodes[k], counts[k], links[k]
                j = k
            nodes[j], counts[j], links[j] = node, count, link
        gap //= 2
    kept = 0
    for i in range(n):
        if kept > 0 and nodes[i] == nodes[kept - 1] and counts[i] == counts[kept - 1] and links[i] == links[kept - 1]:
            continue
        nodes[kept], counts[kept], links[kept] = nodes[i], counts[i], links[i]
        kept += 1
    return kept


@compiled
def _link_slot(nodes: Ints, counts: Ints, links: Ints, first: int, n: int) -> int:
    code = n
    for i in range(first, first + n):
        code = (code * 31 + int(nodes[i]) * 7919 + int(counts[i]) * 613 + int(links[i]) * 104729) & 0xFFFFFFFFFF
    return code ^ (code >> 17)


@compiled
def _state_code(n: int, flags: int) -> int:
    return int(n) * 4 + int(flags)


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
        slot = _link_slot(arena.frame_node, arena.frame_count, arena.frame_link, first, n) & last
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
    """The number of the link whose `n` frames are collected in `scratch.sort_*`; NO_ROOM when the tables are full."""
    n = _sort_frames(scratch, n)
    nodes, counts, links = scratch.sort_node, scratch.sort_count, scratch.sort_link
    last = arena.link_table.shape[0] - 1
    slot = _link_slot(nodes, counts, links, 0, n) & last
    while arena.link_table[slot] >= 0:
        link = int(arena.link_table[slot])
        first = int(arena.link_first[link])
        if arena.link_first[link + 1] - first == n:
            same = True
            for i in range(n):
                if (
                    arena.frame_link[first + i] != links[i]
                    or arena.frame_node[first + i] != nodes[i]
                    or arena.frame_count[first + i] != counts[i]
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
        arena.frame_node[first + i] = nodes[i]
        arena.frame_count[first + i] = counts[i]
        arena.frame_link[first + i] = links[i]
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
