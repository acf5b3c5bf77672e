"""One step of a grammar, as compiled code: from a state and a byte to the next state.

A state is a set of heads: a node that waits for a byte, with the stack of calls to return to. Stacks are shared: a link
is a set of frames (node to return to, count of a loop, link below), so many ways to read the same text stay one graph
instead of many stacks. States and links are interned: equal ones have one number, and steps are remembered by number.

While a step is worked out, calls of one rule at this place share a *local* link that still grows. When all is reached,
the local links that heads refer to become interned ones. Without left recursion they cannot form a cycle.
"""

from llama.grammar.automaton import ACCEPT, CALL, COUNT, END, END_NODE, SPLIT, TOKEN, UNKNOWN
from llama.grammar.interning import (
    ALIAS,
    CUT_SHORT,
    DEAD,
    EMPTY,
    FIRST_FRAME,
    FIRST_HEAD,
    FLAGS,
    FRAME_COUNT,
    FRAME_LINK,
    FRAME_NODE,
    FULL,
    KEY,
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
    NUMBER,
    SEEDS,
    Arena,
    Longs,
    Scratch,
    intern_link,
    intern_state,
    wide,
)
from llama.grammar.program import (
    ARGUMENT,
    EDGE_NODE,
    EDGE_SET,
    FIRST_EDGE,
    FOLLOWING,
    HIGH,
    KIND,
    LOW,
    START,
    Ints,
    Network,
)
from llama.jit import borrowing


@borrowing
def begin(scratch: Scratch) -> None:
    """Forget the last step."""
    used = scratch.used
    for at in range(used[N_VISITED]):
        scratch.seen[scratch.visited[at, 1]] = -1
    for local in range(used[N_LOCAL]):
        scratch.local_of[scratch.locals[local, KEY]] = -1
    used[N_VISITED] = used[N_DONE] = used[N_LOCAL] = used[N_PARENTS] = used[FLAGS] = used[FULL] = used[N_FOUND] = 0


@borrowing
def visit(used: Longs, visited: Longs, seen: Longs, node: int, link: int) -> None:
    """Note that `node` is reached with `link` below it, unless it is known already. The tables are Scratch's."""
    place = (node << 32) | link
    last = seen.shape[0] - 1
    slot = (node * 7919 + link * 104729 + (link >> 7)) & last
    while seen[slot] >= 0:
        if seen[slot] == place:
            return
        slot = (slot + 1) & last
    n = used[N_VISITED]
    if n >= visited.shape[0]:
        used[FULL] = 1
        return
    seen[slot] = place
    visited[n, 0] = place
    visited[n, 1] = slot
    used[N_VISITED] = n + 1


@borrowing
def _add_frame(used: Longs, locals_: Ints, frames: Ints, local: int, node: int, count: int, link: int) -> bool:
    """One more place to return to from `local`. True if its rule was found to be empty here: then return at once."""
    at = wide(used[N_PARENTS])
    if at >= frames.shape[0]:
        used[FULL] = 1
        return False
    used[N_PARENTS] = at + 1
    frames[at, NEXT] = locals_[local, NEWEST]
    frames[at, FRAME_NODE] = node
    frames[at, FRAME_COUNT] = count
    frames[at, FRAME_LINK] = link
    locals_[local, NEWEST] = at
    return bool(locals_[local, EMPTY] != 0)


@borrowing
def _returns_to(node: int) -> int:
    """Where a rule that has read nothing returns to; -1: nowhere, since a loop's empty round counts for nothing."""
    return END_NODE if node == ALIAS else max(node, -1)


@borrowing
def _reach(net: Network, arena: Arena, scratch: Scratch) -> None:
    """Follow everything that can be followed without reading a byte; nodes that read one are kept as heads."""
    used, visited, seen = scratch.used, scratch.visited, scratch.seen
    locals_, frames = scratch.locals, scratch.frames
    while used[N_DONE] < used[N_VISITED] and used[FULL] == 0:
        place = visited[used[N_DONE], 0]
        used[N_DONE] += 1
        node, link = place >> 32, place & 0xFFFFFFFF
        kind = net.node[node, KIND]
        if kind == SPLIT:
            for edge in range(net.node[node, FIRST_EDGE], net.node[node + 1, FIRST_EDGE]):
                visit(used, visited, seen, wide(net.edge[edge, EDGE_NODE]), link)
        elif kind == CALL:
            key, following = wide(net.node[node, ARGUMENT]), wide(net.node[node, FOLLOWING])
            local = _entered(net, scratch, key)
            if net.node[following, KIND] == END:  # nothing is left to do on return, so no frame of its own
                following = ALIAS
            if _add_frame(used, locals_, frames, local, following, wide(0), link):
                target = _returns_to(following)
                if target >= 0:
                    visit(used, visited, seen, target, link)
        elif kind == COUNT:
            _enter_loop(net, scratch, node, wide(0), link)
        elif kind == END and link >= LOCAL:
            locals_[link - LOCAL, EMPTY] = 1
            at = wide(locals_[link - LOCAL, NEWEST])
            while at >= 0:
                target = _returns_to(wide(frames[at, FRAME_NODE]))
                if target >= 0:
                    visit(used, visited, seen, target, wide(frames[at, FRAME_LINK]))
                at = wide(frames[at, NEXT])
        elif kind == END:
            for at in range(arena.link[link, FIRST_FRAME], arena.link[link + 1, FIRST_FRAME]):
                target, below = wide(arena.frame[at, FRAME_NODE]), wide(arena.frame[at, FRAME_LINK])
                if target >= 0:
                    visit(used, visited, seen, target, below)
                else:
                    _enter_loop(net, scratch, -2 - target, wide(arena.frame[at, FRAME_COUNT]) + 1, below)
        elif kind == ACCEPT:
            used[FLAGS] |= MAY_END
        elif kind == UNKNOWN:
            used[FLAGS] |= CUT_SHORT
        elif kind == TOKEN or net.node[node, FIRST_EDGE] < net.node[node + 1, FIRST_EDGE]:
            scratch.heads[used[N_FOUND]] = place
            used[N_FOUND] += 1


@borrowing
def _entered(net: Network, scratch: Scratch, key: int) -> int:
    """The local link that all calls of `key` at this place share; the first call reaches its first node."""
    used, locals_ = scratch.used, scratch.locals
    local = wide(scratch.local_of[key])
    if local >= 0:
        return local
    local = wide(used[N_LOCAL])
    if local >= locals_.shape[0]:
        used[FULL] = 1
        return 0
    used[N_LOCAL] = local + 1
    scratch.local_of[key] = local
    locals_[local, KEY] = key
    locals_[local, NEWEST] = -1
    locals_[local, EMPTY] = 0
    locals_[local, NUMBER] = -1
    visit(used, scratch.visited, scratch.seen, wide(net.key[key, START]), LOCAL + local)
    return local


@borrowing
def _enter_loop(net: Network, scratch: Scratch, node: int, count: int, link: int) -> None:
    """At a counted loop (node `node`) after `count` rounds: leave it, or begin another round."""
    used = scratch.used
    key = wide(net.node[node, ARGUMENT])
    low, high = wide(net.key[key, LOW]), wide(net.key[key, HIGH])
    if high < 0 and count > low:
        count = low
    if count >= low:
        visit(used, scratch.visited, scratch.seen, wide(net.node[node, FOLLOWING]), link)
    if high < 0 or count < high:
        local = _entered(net, scratch, key)
        _add_frame(used, scratch.locals, scratch.frames, local, -2 - node, count, link)


@borrowing
def _collect(arena: Arena, scratch: Scratch, local: int) -> int:
    """Collect the frames of a local link whose parents are interned; returns how many, or NO_SCRATCH."""
    frames, found = scratch.frames, scratch.sorted
    n = 0
    at = wide(scratch.locals[local, NEWEST])
    while at >= 0:
        link = wide(frames[at, FRAME_LINK])
        if link >= LOCAL:
            link = wide(scratch.locals[link - LOCAL, NUMBER])
        first, end = 0, 1
        if frames[at, FRAME_NODE] == ALIAS:
            first, end = wide(arena.link[link, FIRST_FRAME]), wide(arena.link[link + 1, FIRST_FRAME])
        if n + end - first > found.shape[0]:
            return NO_SCRATCH
        if frames[at, FRAME_NODE] == ALIAS:
            for i in range(first, end):
                found[n, 0], found[n, 1], found[n, 2] = arena.frame[i, 0], arena.frame[i, 1], arena.frame[i, 2]
                n += 1
        else:
            found[n, 0], found[n, 1], found[n, 2] = frames[at, FRAME_NODE], frames[at, FRAME_COUNT], link
            n += 1
        at = wide(frames[at, NEXT])
    return n


@borrowing
def _settle(arena: Arena, scratch: Scratch, wanted: int) -> int:
    """The interned number of a local link; the local links it rests on are interned before it."""
    order, frames, locals_ = scratch.order, scratch.frames, scratch.locals
    order[0] = wanted
    height = 1
    while height > 0:
        local = wide(order[height - 1])
        if locals_[local, NUMBER] >= 0:
            height -= 1
            continue
        ready = True
        at = wide(locals_[local, NEWEST])
        while at >= 0:
            below = wide(frames[at, FRAME_LINK]) - LOCAL
            if below >= 0 and locals_[below, NUMBER] < 0:
                if height >= order.shape[0]:
                    return NO_SCRATCH
                order[height] = below
                height += 1
                ready = False
            at = wide(frames[at, NEXT])
        if ready:
            n = _collect(arena, scratch, local)
            if n < 0:
                return n
            link = intern_link(arena, scratch, n)
            if link < 0:
                return link
            locals_[local, NUMBER] = link
    return wide(locals_[wanted, NUMBER])


@borrowing
def finish(net: Network, arena: Arena, scratch: Scratch) -> int:
    """The state that what was visited leads to; or NO_ROOM, NO_SCRATCH."""
    _reach(net, arena, scratch)
    if scratch.used[FULL] != 0:
        return NO_SCRATCH
    n = wide(scratch.used[N_FOUND])
    for i in range(n):
        head = scratch.heads[i]
        link = head & 0xFFFFFFFF
        if link >= LOCAL:
            link = _settle(arena, scratch, link - LOCAL)
            if link < 0:
                return link
            scratch.heads[i] = (head >> 32 << 32) | link
    return intern_state(arena, scratch, n, wide(scratch.used[FLAGS]))


@borrowing
def step(net: Network, arena: Arena, scratch: Scratch, state: int, byte_class: int) -> int:
    """The state after `state` reads a byte of `byte_class`: DEAD if it may not; or NO_ROOM, NO_SCRATCH."""
    following = wide(arena.following[state, byte_class])
    if following < 0:
        n = _seeds(net, arena, scratch.heads, state, byte_class)
        following = _after_seeds(net, arena, scratch, n) if n > 0 else n
        if following >= 0:
            arena.following[state, byte_class] = following
    return following


@borrowing
def _seeds(net: Network, arena: Arena, found: Longs, state: int, byte_class: int) -> int:
    """Collect the places that a byte of `byte_class` leads to from `state`; returns how many, or NO_SCRATCH."""
    n = wide(0)
    for at in range(arena.state[state, FIRST_HEAD], arena.state[state + 1, FIRST_HEAD]):
        node, link = arena.head[at] >> 32, arena.head[at] & 0xFFFFFFFF
        for edge in range(net.node[node, FIRST_EDGE], net.node[node + 1, FIRST_EDGE]):
            if net.member[net.edge[edge, EDGE_SET], byte_class]:
                if n >= found.shape[0]:
                    return NO_SCRATCH
                found[n] = (wide(net.edge[edge, EDGE_NODE]) << 32) | link
                n += 1
    return n


@borrowing
def _after_seeds(net: Network, arena: Arena, scratch: Scratch, n: int) -> int:
    """The state of being at the `n` places in `scratch.heads` at once; or NO_ROOM, NO_SCRATCH.

    Steps from different states often lead to the same places, so these are interned, as a state that is not closed.
    """
    seeds = intern_state(arena, scratch, n, wide(SEEDS))
    if seeds < 0:
        return seeds
    following = wide(arena.following[seeds, 0])
    if following < 0:
        begin(scratch)
        for at in range(arena.state[seeds, FIRST_HEAD], arena.state[seeds + 1, FIRST_HEAD]):
            head = arena.head[at]
            visit(scratch.used, scratch.visited, scratch.seen, head >> 32, head & 0xFFFFFFFF)
        following = finish(net, arena, scratch)
        if following >= 0:
            arena.following[seeds, 0] = following
    return following


@borrowing
def rule_out(net: Network, arena: Arena, state: int) -> None:
    """Note all classes of bytes that `state` cannot read at once, for they are most."""
    for byte_class in range(net.member.shape[1]):
        if not _reads(net, arena, state, byte_class):
            arena.following[state, byte_class] = DEAD


@borrowing
def _reads(net: Network, arena: Arena, state: int, byte_class: int) -> bool:
    for at in range(arena.state[state, FIRST_HEAD], arena.state[state + 1, FIRST_HEAD]):
        node = arena.head[at] >> 32
        for edge in range(net.node[node, FIRST_EDGE], net.node[node + 1, FIRST_EDGE]):
            if net.member[net.edge[edge, EDGE_SET], byte_class]:
                return True
    return False
