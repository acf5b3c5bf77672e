"""States that allow the same tokens, made the same state, so that their mask is worked out once.

A token is short. It cannot bring a loop from far below its bound to the bound, so counts far from one are made equal.
And it rarely ends many rules, so what lies deep in the stack is cut off: where a token does get down to the cut, the
whole stack is asked about it.
"""

from llama.grammar.interning import (
    EVEN,
    EVENED,
    FIRST_FRAME,
    FIRST_HEAD,
    FRAME_COUNT,
    FRAME_LINK,
    FRAME_NODE,
    N_LONGEST,
    NO_SCRATCH,
    SHORT,
    STATE_FLAGS,
    Arena,
    Scratch,
    intern_link,
    intern_state,
    wide,
)
from llama.grammar.program import ARGUMENT, HIGH, LOW, Network
from llama.jit import borrowing

KEPT_FRAMES = 24


@borrowing
def _same_count(net: Network, node: int, count: int, longest: int) -> int:
    """The least count from which a token of `longest` bytes cannot tell `count`."""
    key = net.node[node, ARGUMENT]
    low, high = wide(net.key[key, LOW]), wide(net.key[key, HIGH])
    if high >= 0 and high - count <= longest:
        return count
    if count >= low:
        return low
    return count if low - count <= longest else 0


@borrowing
def _shortened_link(net: Network, arena: Arena, scratch: Scratch, wanted: int, kept: int) -> int:
    """The number of the link that stands for `wanted` with `kept` frames on top of each other."""
    order, longest = scratch.order, wide(scratch.used[N_LONGEST])
    order[0], order[1] = wanted, kept
    height = 2
    while height > 0:
        link, depth = wide(order[height - 2]), wide(order[height - 1])
        if arena.shortened[link, depth] >= 0:
            height -= 2
            continue
        first, n = _frames_of(arena, link)
        if height + 2 >= order.shape[0] or n > scratch.sorted.shape[0]:
            return NO_SCRATCH
        ready = True
        for at in range(first, first + n):
            if arena.shortened[arena.frame[at, FRAME_LINK], depth - 1] < 0:
                order[height], order[height + 1] = arena.frame[at, FRAME_LINK], depth - 1
                height += 2
                ready = False
                break
        if ready:
            for i in range(n):
                _copy_frame(net, arena, scratch, first + i, i, longest)
                scratch.sorted[i, 2] = arena.shortened[arena.frame[first + i, FRAME_LINK], depth - 1]
            short = intern_link(arena, scratch, n)
            if short < 0:
                return short
            arena.shortened[link, depth] = short
            height -= 2
    return wide(arena.shortened[wanted, kept])


@borrowing
def _frames_of(arena: Arena, link: int) -> tuple[int, int]:
    """The first frame of a link, and how many it has."""
    first = wide(arena.link[link, FIRST_FRAME])
    return first, wide(arena.link[link + 1, FIRST_FRAME]) - first


@borrowing
def _copy_frame(net: Network, arena: Arena, scratch: Scratch, at: int, to: int, longest: int) -> None:
    """Write node and count of the frame `at` to `scratch.sorted[to]`, the count made equal."""
    node, count = wide(arena.frame[at, FRAME_NODE]), wide(arena.frame[at, FRAME_COUNT])
    scratch.sorted[to, 0] = node
    scratch.sorted[to, 1] = _same_count(net, -2 - node, count, longest) if node < 0 else 0


@borrowing
def _evened_link(net: Network, arena: Arena, scratch: Scratch, wanted: int) -> int:
    """The number of the link that stands for `wanted`, all of its stack kept."""
    order, longest = scratch.order, wide(scratch.used[N_LONGEST])
    order[0] = wanted
    height = 1
    while height > 0:
        link = wide(order[height - 1])
        if arena.link[link, EVENED] >= 0:
            height -= 1
            continue
        first, n = _frames_of(arena, link)
        if height >= order.shape[0] or n > scratch.sorted.shape[0]:
            return NO_SCRATCH
        ready = True
        for at in range(first, first + n):
            if arena.link[arena.frame[at, FRAME_LINK], EVENED] < 0:
                order[height] = arena.frame[at, FRAME_LINK]
                height += 1
                ready = False
                break
        if ready:
            for i in range(n):
                _copy_frame(net, arena, scratch, first + i, i, longest)
                scratch.sorted[i, 2] = arena.link[arena.frame[first + i, FRAME_LINK], EVENED]
            even = intern_link(arena, scratch, n)
            if even < 0:
                return even
            arena.link[link, EVENED] = even
            height -= 1
    return wide(arena.link[wanted, EVENED])


@borrowing
def evened(net: Network, arena: Arena, scratch: Scratch, state: int) -> int:
    """The state that allows the same as `state` within one token: counts made equal; or NO_ROOM, NO_SCRATCH."""
    if arena.state[state, EVEN] < 0:
        even = _rebuilt(net, arena, scratch, state, wide(-1))
        if even < 0:
            return even
        arena.state[state, EVEN] = arena.state[even, EVEN] = even
    return wide(arena.state[state, EVEN])


@borrowing
def shortened(net: Network, arena: Arena, scratch: Scratch, state: int) -> int:
    """The state that stands for `state`: counts made equal, stacks cut off; or NO_ROOM, NO_SCRATCH."""
    if arena.state[state, SHORT] < 0:
        short = _rebuilt(net, arena, scratch, state, arena.shortened.shape[1] - 1)
        if short < 0:
            return short
        arena.state[state, SHORT] = arena.state[short, SHORT] = short
    return wide(arena.state[state, SHORT])


@borrowing
def _rebuilt(net: Network, arena: Arena, scratch: Scratch, state: int, kept: int) -> int:
    """The state with its stacks shortened to `kept` frames, or, below 0, only evened; or NO_ROOM, NO_SCRATCH."""
    first = wide(arena.state[state, FIRST_HEAD])
    n = wide(arena.state[state + 1, FIRST_HEAD]) - first
    if n > scratch.heads.shape[0]:
        return NO_SCRATCH
    same = True
    for i in range(n):
        head = arena.head[first + i]
        old = head & 0xFFFFFFFF
        link = wide(arena.shortened[old, kept]) if kept >= 0 else wide(arena.link[old, EVENED])
        if link < 0 and kept >= 0:
            link = _shortened_link(net, arena, scratch, old, kept)
        elif link < 0:
            link = _evened_link(net, arena, scratch, old)
        if link < 0:
            return link
        same = same and link == old
        scratch.heads[i] = (head >> 32 << 32) | link
    return state if same else intern_state(arena, scratch, n, wide(arena.state[state, STATE_FLAGS]))
