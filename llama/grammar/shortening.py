"""States that allow the same tokens, made the same state, so that their mask is worked out once.

A token is short. It cannot bring a loop from far below its bound to the bound, so counts far from one are made equal.
And it rarely ends many rules, so what lies deep in the stack is cut off: where a token does get down to the cut, the
whole stack is asked about it.
"""

from llama.grammar.interning import (
    NO_SCRATCH,
    Arena,
    Scratch,
    intern_link,
    intern_state,
)
from llama.grammar.program import Network
from llama.jit import compiled

KEPT_FRAMES = 24


@compiled
def _same_count(net: Network, node: int, count: int, longest: int) -> int:
    """The least count from which a token of `longest` bytes cannot tell `count`."""
    key = net.argument[node]
    low, high = int(net.low[key]), int(net.high[key])
    if high >= 0 and high - count <= longest:
        return count
    if count >= low:
        return low
    return count if low - count <= longest else 0


@compiled
def _shortened_link(net: Network, arena: Arena, scratch: Scratch, wanted: int, kept: int, longest: int) -> int:
    """The number of the link that stands for `wanted` with `kept` frames on top of each other."""
    order = scratch.order
    order[0], order[1] = wanted, kept
    height = 2
    while height > 0:
        link, depth = int(order[height - 2]), int(order[height - 1])
        if arena.shortened[link, depth] >= 0:
            height -= 2
            continue
        if height + 2 >= order.shape[0]:
            return NO_SCRATCH
        first, end = int(arena.link_first[link]), int(arena.link_first[link + 1])
        if end - first > scratch.sorted.shape[0]:
            return NO_SCRATCH
        ready = True
        for at in range(first, end):
            if arena.shortened[arena.frame_link[at], depth - 1] < 0:
                order[height], order[height + 1] = arena.frame_link[at], depth - 1
                height += 2
                ready = False
                break
        if ready:
            for at in range(first, end):
                node, count = int(arena.frame_node[at]), int(arena.frame_count[at])
                scratch.sorted[at - first, 0] = node
                scratch.sorted[at - first, 1] = _same_count(net, -2 - node, count, longest) if node < 0 else 0
                scratch.sorted[at - first, 2] = arena.shortened[arena.frame_link[at], depth - 1]
            short = intern_link(arena, scratch, end - first)
            if short < 0:
                return short
            arena.shortened[link, depth] = short
            height -= 2
    return int(arena.shortened[wanted, kept])


@compiled
def _evened_link(net: Network, arena: Arena, scratch: Scratch, wanted: int) -> int:
    """The number of the link that stands for `wanted`, all of its stack kept."""
    order = scratch.order
    order[0] = wanted
    height = 1
    while height > 0:
        link = int(order[height - 1])
        if arena.evened[link] >= 0:
            height -= 1
            continue
        first, end = int(arena.link_first[link]), int(arena.link_first[link + 1])
        if height >= order.shape[0] or end - first > scratch.sorted.shape[0]:
            return NO_SCRATCH
        ready = True
        for at in range(first, end):
            if arena.evened[arena.frame_link[at]] < 0:
                order[height] = arena.frame_link[at]
                height += 1
                ready = False
                break
        if ready:
            for at in range(first, end):
                node, count = int(arena.frame_node[at]), int(arena.frame_count[at])
                scratch.sorted[at - first, 0] = node
                scratch.sorted[at - first, 1] = _same_count(net, -2 - node, count, scratch.longest) if node < 0 else 0
                scratch.sorted[at - first, 2] = arena.evened[arena.frame_link[at]]
            even = intern_link(arena, scratch, end - first)
            if even < 0:
                return even
            arena.evened[link] = even
            height -= 1
    return int(arena.evened[wanted])


@compiled
def evened(net: Network, arena: Arena, scratch: Scratch, state: int) -> int:
    """The state that allows the same as `state` within one token: counts made equal; or NO_ROOM, NO_SCRATCH."""
    first, end = int(arena.state_first[state]), int(arena.state_first[state + 1])
    if end - first > scratch.heads.shape[0]:
        return NO_SCRATCH
    same = True
    for at in range(first, end):
        link = int(arena.evened[arena.head_link[at]])
        if link < 0:
            link = _evened_link(net, arena, scratch, int(arena.head_link[at]))
        if link < 0:
            return link
        same = same and link == arena.head_link[at]
        scratch.heads[at - first] = (int(arena.head_node[at]) << 32) | link
    even = state if same else intern_state(arena, scratch, end - first, int(arena.flags[state]))
    if even >= 0:
        arena.even[state] = even
        arena.even[even] = even
    return even


@compiled
def shortened(net: Network, arena: Arena, scratch: Scratch, state: int) -> int:
    """The state that stands for `state`: counts made equal, stacks cut off; or NO_ROOM, NO_SCRATCH."""
    if arena.short[state] >= 0:
        return int(arena.short[state])
    kept, longest = arena.shortened.shape[1] - 1, scratch.longest
    first, end = int(arena.state_first[state]), int(arena.state_first[state + 1])
    if end - first > scratch.heads.shape[0]:
        return NO_SCRATCH
    same = True
    for at in range(first, end):
        link = int(arena.shortened[arena.head_link[at], kept])
        if link < 0:
            link = _shortened_link(net, arena, scratch, arena.head_link[at], kept, longest)
        if link < 0:
            return link
        same = same and link == arena.head_link[at]
        scratch.heads[at - first] = (int(arena.head_node[at]) << 32) | link
    short = state if same else intern_state(arena, scratch, end - first, int(arena.flags[state]))
    if short >= 0:
        arena.short[state] = short
        arena.short[short] = short
    return short
