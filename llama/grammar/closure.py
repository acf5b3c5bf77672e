"""One step of a grammar, as compiled code: from a state and a byte to the next state.

A state is a set of heads: a node that waits for a byte, with the stack of calls to return to. Stacks are shared: a link
is a set of frames (node to return to, count of a loop, link below), so many ways to read the same text stay one graph
instead of many stacks. States and links are interned: equal ones have one number, and steps are remembered by number.

While a step is worked out, calls of one rule at this place share a *local* link that still grows. When all is reached,
the local links that heads refer to become interned ones. Without left recursion they cannot form a cycle.
"""

import numpy as np

from llama.grammar.automaton import ACCEPT, BYTES, CALL, COUNT, END, END_NODE, SPLIT, TOKEN, UNKNOWN
from llama.grammar.interning import (
    ALIAS,
    CUT_SHORT,
    DEAD,
    EMPTY,
    FLAGS,
    FULL,
    KEY,
    LINK,
    LOCAL,
    MAY_END,
    N_DONE,
    N_FOUND,
    N_LOCAL,
    N_PARENTS,
    N_VISITED,
    NEWEST,
    NEXT,
    NO_SCRATCH,
    NODE,
    NUMBER,
    SEEDS,
    Arena,
    Longs,
    Scratch,
    intern_link,
    intern_state,
)
from llama.grammar.interning import COUNT as COUNT_COLUMN
from llama.grammar.program import Ints, Network
from llama.jit import compiled


@compiled
def begin(scratch: Scratch) -> None:
    """Forget the last step."""
    used = scratch.used
    for at in range(used[N_VISITED]):
        scratch.seen[scratch.slots[at]] = -1
    for local in range(used[N_LOCAL]):
        scratch.local_of[scratch.locals[local, KEY]] = -1
    used[N_VISITED] = used[N_DONE] = used[N_LOCAL] = used[N_PARENTS] = used[FLAGS] = used[FULL] = used[N_FOUND] = 0


@compiled
def visit(used: Longs, visited: Longs, slots: Ints, seen: Longs, node: int, link: int) -> None:
    """Note that `node` is reached with `link` below it, unless it is known already. The tables are Scratch's."""
    key = (int(node) << 32) | int(link)
    last = seen.shape[0] - 1
    slot = (int(node) * 7919 + int(link) * 104729 + (int(link) >> 7)) & last
    while seen[slot] >= 0:
        if seen[slot] == key:
            return
        slot = (slot + 1) & last
    n = int(used[N_VISITED])
    if n >= visited.shape[0]:
        used[FULL] = 1
        return
    seen[slot] = key
    slots[n] = slot
    visited[n] = key
    used[N_VISITED] = n + 1


@compiled
def _local_link(used: Longs, local_of: Ints, locals_: Ints, key: int) -> int:
    """The local link that all calls of `key` at this place share; -1 - number if it is new; 0 and FULL without room."""
    known = int(local_of[key])
    if known >= 0:
        return known
    local = int(used[N_LOCAL])
    if local >= locals_.shape[0]:
        used[FULL] = 1
        return 0
    used[N_LOCAL] = local + 1
    local_of[key] = local
    locals_[local, KEY] = key
    locals_[local, NEWEST] = -1
    locals_[local, EMPTY] = 0
    locals_[local, NUMBER] = -1
    return -1 - local


@compiled
def _add_frame(used: Longs, locals_: Ints, frames: Ints, local: int, node: int, count: int, link: int) -> bool:
    """One more place to return to from `local`. True if its rule was found to be empty here: then return at once."""
    at = int(used[N_PARENTS])
    if at >= frames.shape[0]:
        used[FULL] = 1
        return False
    used[N_PARENTS] = at + 1
    frames[at, NEXT] = locals_[local, NEWEST]
    frames[at, NODE] = node
    frames[at, COUNT_COLUMN] = count
    frames[at, LINK] = link
    locals_[local, NEWEST] = at
    return bool(locals_[local, EMPTY] != 0)


@compiled
def _returns_to(node: int) -> int:
    """Where a rule that has read nothing returns to; -1: nowhere, since a loop's empty round counts for nothing."""
    return END_NODE if node == ALIAS else max(node, -1)


@compiled
def _reach(net: Network, arena: Arena, scratch: Scratch) -> None:
    """Follow everything that can be followed without reading a byte; nodes that read one are kept as heads."""
    used, visited, slots, seen = scratch.used, scratch.visited, scratch.slots, scratch.seen
    locals_, frames = scratch.locals, scratch.frames
    while used[N_DONE] < used[N_VISITED] and used[FULL] == 0:
        place = int(visited[used[N_DONE]])
        used[N_DONE] += 1
        node, link = place >> 32, place & 0xFFFFFFFF
        kind = net.kind[node]
        if kind == SPLIT:
            for edge in range(net.first_edge[node], net.first_edge[node + 1]):
                visit(used, visited, slots, seen, net.edge_node[edge], link)
        elif kind == CALL:
            key, following = int(net.argument[node]), int(net.following[node])
            local = _local_link(used, scratch.local_of, locals_, key)
            if local < 0:
                local = -1 - local
                visit(used, visited, slots, seen, net.start[key], LOCAL + local)
            if net.kind[following] == END:  # nothing is left to do on return, so no frame of its own
                following = ALIAS
            if _add_frame(used, locals_, frames, local, following, 0, link):
                visit(used, visited, slots, seen, _returns_to(following), link)
        elif kind == COUNT:
            _enter_loop(net, scratch, node, 0, link)
        elif kind == END and link >= LOCAL:
            locals_[link - LOCAL, EMPTY] = 1
            at = int(locals_[link - LOCAL, NEWEST])
            while at >= 0:
                target = _returns_to(int(frames[at, NODE]))
                if target >= 0:
                    visit(used, visited, slots, seen, target, frames[at, LINK])
                at = int(frames[at, NEXT])
        elif kind == END:
            for at in range(arena.link_first[link], arena.link_first[link + 1]):
                target = int(arena.frame_node[at])
                if target >= 0:
                    visit(used, visited, slots, seen, target, arena.frame_link[at])
                else:
                    _enter_loop(net, scratch, -2 - target, arena.frame_count[at] + 1, arena.frame_link[at])
        elif kind == ACCEPT:
            used[FLAGS] |= MAY_END
        elif kind == UNKNOWN:
            used[FLAGS] |= CUT_SHORT
        elif kind == TOKEN or net.first_edge[node] < net.first_edge[node + 1]:
            scratch.heads[used[N_FOUND]] = place
            used[N_FOUND] += 1


@compiled
def _enter_loop(net: Network, scratch: Scratch, node: int, count: int, link: int) -> None:
    """At a counted loop (node `node`) after `count` rounds: leave it, or begin another round."""
    used = scratch.used
    key = int(net.argument[node])
    low, high = int(net.low[key]), int(net.high[key])
    if high < 0 and count > low:
        count = low
    if count >= low:
        visit(used, scratch.visited, scratch.slots, scratch.seen, net.following[node], link)
    if high < 0 or count < high:
        local = _local_link(used, scratch.local_of, scratch.locals, key)
        if local < 0:
            local = -1 - local
            visit(used, scratch.visited, scratch.slots, scratch.seen, net.start[key], LOCAL + local)
        _add_frame(used, scratch.locals, scratch.frames, local, -2 - node, count, link)


@compiled
def _collect(arena: Arena, scratch: Scratch, local: int) -> int:
    """Collect the frames of a local link whose parents are interned; returns how many, or NO_SCRATCH."""
    frames, found = scratch.frames, scratch.sorted
    n = 0
    at = int(scratch.locals[local, NEWEST])
    while at >= 0:
        link = int(frames[at, LINK])
        if link >= LOCAL:
            link = int(scratch.locals[link - LOCAL, NUMBER])
        first, end = 0, 1
        if frames[at, NODE] == ALIAS:
            first, end = int(arena.link_first[link]), int(arena.link_first[link + 1])
        if n + end - first > found.shape[0]:
            return NO_SCRATCH
        if frames[at, NODE] == ALIAS:
            for i in range(first, end):
                found[n, 0], found[n, 1], found[n, 2] = arena.frame_node[i], arena.frame_count[i], arena.frame_link[i]
                n += 1
        else:
            found[n, 0], found[n, 1], found[n, 2] = frames[at, NODE], frames[at, COUNT_COLUMN], link
            n += 1
        at = int(frames[at, NEXT])
    return n


@compiled
def _settle(arena: Arena, scratch: Scratch, wanted: int) -> int:
    """The interned number of a local link; the local links it rests on are interned before it."""
    order, frames, locals_ = scratch.order, scratch.frames, scratch.locals
    order[0] = wanted
    height = 1
    while height > 0:
        local = int(order[height - 1])
        if locals_[local, NUMBER] >= 0:
            height -= 1
            continue
        ready = True
        at = int(locals_[local, NEWEST])
        while at >= 0:
            below = int(frames[at, LINK]) - LOCAL
            if below >= 0 and locals_[below, NUMBER] < 0:
                if height >= order.shape[0]:
                    return NO_SCRATCH
                order[height] = below
                height += 1
                ready = False
            at = int(frames[at, NEXT])
        if ready:
            n = _collect(arena, scratch, local)
            if n < 0:
                return n
            link = intern_link(arena, scratch, n)
            if link < 0:
                return link
            locals_[local, NUMBER] = link
    return int(locals_[wanted, NUMBER])


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
    n = 0
    for head in range(arena.state_first[state], arena.state_first[state + 1]):
        node = arena.head_node[head]
        if net.kind[node] == BYTES:
            for edge in range(net.first_edge[node], net.first_edge[node + 1]):
                if net.member[net.edge_set[edge], byte_class]:
                    if n >= scratch.heads.shape[0]:
                        return NO_SCRATCH
                    scratch.heads[n] = (int(net.edge_node[edge]) << 32) | int(arena.head_link[head])
                    n += 1
    following = _after_seeds(net, arena, scratch, n) if n > 0 else DEAD
    if following >= 0:
        arena.following[state, byte_class] = following
    return following


@compiled
def _after_seeds(net: Network, arena: Arena, scratch: Scratch, n: int) -> int:
    """The state of being at the `n` places in `scratch.heads` at once; or NO_ROOM, NO_SCRATCH.

    Steps from different states often lead to the same places, so these are interned, as a state that is not closed.
    """
    seeds = intern_state(arena, scratch, n, SEEDS)
    if seeds < 0:
        return seeds
    following = int(arena.following[seeds, 0])
    if following < 0:
        begin(scratch)
        for at in range(arena.state_first[seeds], arena.state_first[seeds + 1]):
            visit(scratch.used, scratch.visited, scratch.slots, scratch.seen, arena.head_node[at], arena.head_link[at])
        following = finish(net, arena, scratch)
        if following >= 0:
            arena.following[seeds, 0] = following
    return following


@compiled
def rule_out(net: Network, arena: Arena, state: int) -> None:
    """Note all classes of bytes that `state` cannot read at once, for they are most."""
    alive = np.zeros(net.member.shape[1], np.bool_)
    for head in range(arena.state_first[state], arena.state_first[state + 1]):
        node = arena.head_node[head]
        for edge in range(net.first_edge[node], net.first_edge[node + 1]):
            row = net.edge_set[edge]
            for byte_class in range(alive.shape[0]):
                alive[byte_class] |= net.member[row, byte_class]
    for byte_class in range(alive.shape[0]):
        if not alive[byte_class]:
            arena.following[state, byte_class] = DEAD
