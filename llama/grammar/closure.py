"""One step of a grammar, as compiled code: from a state and a byte to the next state.

A state is a set of heads: a node that waits for a byte, with the stack of calls to return to. Stacks are shared: a link
is a set of frames (node to return to, count of a loop, link below), so many ways to read the same text stay one graph
instead of many stacks. States and links are interned: equal ones have one number, and steps are remembered by number.

While a step is worked out, calls of one rule at this place share a *local* link that still grows. When all is reached,
the local links that heads refer to become interned ones. Without left recursion they cannot form a cycle.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from llama.grammar.automaton import ACCEPT, BYTES, CALL, COUNT, END, END_NODE, SPLIT, TOKEN, UNKNOWN
from llama.grammar.compiled import compiled
from llama.grammar.program import Ints, Network

Longs = NDArray[np.int64]

DEAD = 0
BOTTOM_LINK, UNKNOWN_LINK = 0, 1
MAY_END, CUT_SHORT = 1, 2  # flags of a state: the text may end; its stack was cut and has run out
NO_ROOM, NO_SCRATCH = -1, -2  # results instead of a state: grow the tables, then ask again

ALIAS = -1  # a member that stands for all frames of its link; the frame of a loop is -2 - its node
LOCAL = 1 << 30  # links from here on are local ones

N_LINKS, N_MEMBERS, N_STATES, N_HEADS = range(4)  # places in Arena.used
EPOCH, N_WORK, N_SEEN, N_LOCAL, N_PARENTS, FLAGS, FULL, N_FOUND = range(8)  # places in Scratch.used


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


class Scratch(NamedTuple):
    """What a step needs while it is worked out."""

    used: Longs  # (8,)
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


@compiled
def begin(scratch: Scratch) -> None:
    """Forget the last step."""
    used = scratch.used
    used[EPOCH] += 1
    used[N_WORK] = 0
    used[N_SEEN] = 0
    used[N_LOCAL] = 0
    used[N_PARENTS] = 0
    used[FLAGS] = 0
    used[FULL] = 0
    used[N_FOUND] = 0


@compiled
def visit(scratch: Scratch, node: int, link: int) -> None:
    """Note that `node` is reached with `link` below it, unless it is known already."""
    used = scratch.used
    node, link = int(node), int(link)
    key = (node << 32) | link
    last = scratch.seen.shape[0] - 1
    slot = (node * 7919 + link * 104729 + (link >> 7)) & last
    while scratch.seen_epoch[slot] == used[EPOCH]:
        if scratch.seen[slot] == key:
            return
        slot = (slot + 1) & last
    if 2 * used[N_SEEN] >= last or used[N_WORK] >= scratch.work_node.shape[0]:
        used[FULL] = 1
        return
    scratch.seen_epoch[slot] = used[EPOCH]
    scratch.seen[slot] = key
    used[N_SEEN] += 1
    scratch.work_node[used[N_WORK]] = node
    scratch.work_link[used[N_WORK]] = link
    used[N_WORK] += 1


@compiled
def _local_link(net: Network, scratch: Scratch, key: int) -> int:
    """The local link that all calls of `key` at this place share; the first call also enters its start."""
    used = scratch.used
    if scratch.key_epoch[key] != used[EPOCH]:
        if used[N_LOCAL] >= scratch.local_link.shape[0]:
            used[FULL] = 1
            return 0
        local = int(used[N_LOCAL])
        used[N_LOCAL] += 1
        scratch.key_epoch[key] = used[EPOCH]
        scratch.key_local[key] = local
        scratch.local_parent[local] = -1
        scratch.local_popped[local] = False
        scratch.local_link[local] = -1
        visit(scratch, net.start[key], LOCAL + local)
    return int(scratch.key_local[key])


@compiled
def _add_frame(scratch: Scratch, local: int, node: int, count: int, link: int) -> None:
    """One more place to return to from `local`; if its rule was found to be empty here, return at once."""
    used = scratch.used
    at = int(used[N_PARENTS])
    if at >= scratch.parent_node.shape[0]:
        used[FULL] = 1
        return
    used[N_PARENTS] += 1
    scratch.parent_node[at] = node
    scratch.parent_count[at] = count
    scratch.parent_link[at] = link
    scratch.parent_next[at] = scratch.local_parent[local]
    scratch.local_parent[local] = at
    if scratch.local_popped[local]:
        _return_empty(scratch, node, link)


@compiled
def _return_empty(scratch: Scratch, node: int, link: int) -> None:
    """Return from a rule that has read nothing. A loop's empty round counts for nothing, so it is dropped."""
    if node == ALIAS:
        visit(scratch, END_NODE, link)
    elif node >= 0:
        visit(scratch, node, link)


@compiled
def _enter_loop(net: Network, scratch: Scratch, node: int, count: int, link: int) -> None:
    """At a counted loop (node `node`) after `count` rounds: leave it, or begin another round."""
    key = int(net.argument[node])
    low, high = int(net.low[key]), int(net.high[key])
    if high < 0 and count > low:
        count = low
    if count >= low:
        visit(scratch, net.following[node], link)
    if high < 0 or count < high:
        local = _local_link(net, scratch, key)
        _add_frame(scratch, local, -2 - node, count, link)


@compiled
def _pop(net: Network, arena: Arena, scratch: Scratch, link: int) -> None:
    """The end of a rule: go on at every place it was called from."""
    if link >= LOCAL:
        local = link - LOCAL
        scratch.local_popped[local] = True
        at = scratch.local_parent[local]
        while at >= 0:
            _return_empty(scratch, scratch.parent_node[at], scratch.parent_link[at])
            at = scratch.parent_next[at]
        return
    for at in range(arena.link_first[link], arena.link_first[link + 1]):
        node = arena.frame_node[at]
        if node >= 0:
            visit(scratch, node, arena.frame_link[at])
        else:
            _enter_loop(net, scratch, -2 - node, arena.frame_count[at] + 1, arena.frame_link[at])


@compiled
def _reach(net: Network, arena: Arena, scratch: Scratch) -> None:
    """Follow everything that can be followed without reading a byte; nodes that read one are kept as heads."""
    used = scratch.used
    while used[N_WORK] > 0 and used[FULL] == 0:
        used[N_WORK] -= 1
        node = int(scratch.work_node[used[N_WORK]])
        link = int(scratch.work_link[used[N_WORK]])
        kind = net.kind[node]
        if kind == SPLIT:
            for edge in range(net.first_edge[node], net.first_edge[node + 1]):
                visit(scratch, net.edge_node[edge], link)
        elif kind == CALL:
            local = _local_link(net, scratch, net.argument[node])
            following = int(net.following[node])
            if net.kind[following] == END:  # nothing is left to do on return, so no frame of its own
                _add_frame(scratch, local, ALIAS, 0, link)
            else:
                _add_frame(scratch, local, following, 0, link)
        elif kind == COUNT:
            _enter_loop(net, scratch, node, 0, link)
        elif kind == END:
            _pop(net, arena, scratch, link)
        elif kind == ACCEPT:
            used[FLAGS] |= MAY_END
        elif kind == UNKNOWN:
            used[FLAGS] |= CUT_SHORT
        elif kind == TOKEN or net.first_edge[node] < net.first_edge[node + 1]:
            if used[N_FOUND] >= scratch.heads.shape[0]:
                used[FULL] = 1
                return
            scratch.heads[used[N_FOUND]] = (node << 32) | link
            used[N_FOUND] += 1


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
def _collect(arena: Arena, scratch: Scratch, local: int) -> int:
    """Collect the frames of a local link whose parents are interned; returns how many, or NO_SCRATCH."""
    n = 0
    at = scratch.local_parent[local]
    while at >= 0:
        link = int(scratch.parent_link[at])
        if link >= LOCAL:
            link = int(scratch.local_link[link - LOCAL])
        if scratch.parent_node[at] == ALIAS:
            first, end = int(arena.link_first[link]), int(arena.link_first[link + 1])
            if n + end - first > scratch.sort_node.shape[0]:
                return NO_SCRATCH
            for i in range(first, end):
                scratch.sort_node[n] = arena.frame_node[i]
                scratch.sort_count[n] = arena.frame_count[i]
                scratch.sort_link[n] = arena.frame_link[i]
                n += 1
        else:
            if n + 1 > scratch.sort_node.shape[0]:
                return NO_SCRATCH
            scratch.sort_node[n] = scratch.parent_node[at]
            scratch.sort_count[n] = scratch.parent_count[at]
            scratch.sort_link[n] = link
            n += 1
        at = scratch.parent_next[at]
    return n


@compiled
def _settle(arena: Arena, scratch: Scratch, wanted: int) -> int:
    """The interned number of a local link; the local links it rests on are interned before it."""
    order = scratch.order
    order[0] = wanted
    height = 1
    while height > 0:
        local = int(order[height - 1])
        if scratch.local_link[local] >= 0:
            height -= 1
            continue
        ready = True
        at = scratch.local_parent[local]
        while at >= 0:
            below = int(scratch.parent_link[at]) - LOCAL
            if below >= 0 and scratch.local_link[below] < 0:
                if height >= order.shape[0]:
                    return NO_SCRATCH
                order[height] = below
                height += 1
                ready = False
            at = scratch.parent_next[at]
        if ready:
            n = _collect(arena, scratch, local)
            if n < 0:
                return n
            link = intern_link(arena, scratch, n)
            if link < 0:
                return link
            scratch.local_link[local] = link
    return int(scratch.local_link[wanted])


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


@compiled
def finish(net: Network, arena: Arena, scratch: Scratch) -> int:
    """The state that what was visited leads to; or NO_ROOM, NO_SCRATCH."""
    _reach(net, arena, scratch)
    if scratch.used[FULL] != 0:
        return NO_SCRATCH
    n = int(scratch.used[N_FOUND])
    for i in range(n):
        head = int(scratch.heads[i])
        link = head & 0xFFFFFFFF
        if link >= LOCAL:
            link = _settle(arena, scratch, link - LOCAL)
            if link < 0:
                return link
            scratch.heads[i] = (head >> 32 << 32) | link
    return intern_state(arena, scratch, n, int(scratch.used[FLAGS]))


@compiled
def step(net: Network, arena: Arena, scratch: Scratch, state: int, byte_class: int) -> int:
    """The state after `state` reads a byte of `byte_class`: DEAD if it may not; or NO_ROOM, NO_SCRATCH."""
    following = int(arena.following[state, byte_class])
    if following >= 0:
        return following
    begin(scratch)
    for head in range(arena.state_first[state], arena.state_first[state + 1]):
        node = arena.head_node[head]
        if net.kind[node] == BYTES:
            for edge in range(net.first_edge[node], net.first_edge[node + 1]):
                if net.member[net.edge_set[edge], byte_class]:
                    visit(scratch, net.edge_node[edge], arena.head_link[head])
    following = finish(net, arena, scratch)
    if following >= 0:
        arena.following[state, byte_class] = following
    return following
