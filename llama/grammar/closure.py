"""One step of a grammar, as compiled code: from a state and a byte to the next state.

A state is a set of heads: a node that waits for a byte, with the stack of calls to return to. Stacks are shared: a link
is a set of frames (node to return to, count of a loop, link below), so many ways to read the same text stay one graph
instead of many stacks. States and links are interned: equal ones have one number, and steps are remembered by number.

While a step is worked out, calls of one rule at this place share a *local* link that still grows. When all is reached,
the local links that heads refer to become interned ones. Without left recursion they cannot form a cycle.
"""

from llama.grammar.automaton import ACCEPT, BYTES, CALL, COUNT, END, END_NODE, SPLIT, TOKEN, UNKNOWN
from llama.grammar.compiled import compiled
from llama.grammar.interning import (
    ALIAS,
    CUT_SHORT,
    EPOCH,
    FLAGS,
    FULL,
    LOCAL,
    MAY_END,
    N_FOUND,
    N_LOCAL,
    N_PARENTS,
    N_SEEN,
    N_WORK,
    NO_SCRATCH,
    Arena,
    Scratch,
    intern_link,
    intern_state,
)
from llama.grammar.program import Network


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
