"""Whole tokens and whole vocabularies through a grammar, as compiled code."""

import numpy as np
from numpy.typing import NDArray

from llama.grammar.closure import rule_out, step
from llama.grammar.interning import CUT_SHORT, DEAD, N_ALIVE, N_CUT, NO_SCRATCH, Arena, Scratch
from llama.grammar.loops import loops
from llama.grammar.program import Network
from llama.grammar.shortening import evened
from llama.grammar.tree import TreeNodes
from llama.jit import compiled

WORTH_A_LOOK = 16  # nodes below a state that make it worth asking which characters leave it as it is


@compiled
def read(net: Network, arena: Arena, scratch: Scratch, state: int, text: NDArray[np.uint8]) -> int:
    """The state after `state` reads `text`; DEAD, or NO_ROOM, NO_SCRATCH."""
    for i in range(text.shape[0]):
        state = step(net, arena, scratch, state, net.class_of[text[i]])
        if state <= DEAD:
            break
    return state


@compiled
def allow(
    net: Network, arena: Arena, scratch: Scratch, tree: TreeNodes, begin: int, runs: NDArray[np.int32]
) -> tuple[int, int]:
    """Collect in `runs` (from, to, from, to ...) the tokens of the tree's nodes from `begin` on that can be read.

    scratch.path[d] is the state at depth d, shortened; scratch.used[N_ALIVE] is the length of `runs`. Returns where it
    stopped, and why: 0, or NO_ROOM, NO_SCRATCH.
    """
    at = begin
    path = scratch.path
    end = tree.byte.shape[0]
    n = int(scratch.used[N_ALIVE])
    why = 0
    if begin == 0:
        rule_out(net, arena, path[0])
        why = min(loops(net, arena, scratch, path[0]), 0)
    while at < end and why == 0:
        state = path[tree.depth[at] - 1]
        after = int(tree.skip[at])
        if (
            tree.groups[at] & ~max(arena.loops[state], 0) != 0
        ):  # not all of the subtree is characters that change nothing
            following = int(arena.following[state, net.class_of[tree.byte[at]]])
            if following < 0:
                following = step(net, arena, scratch, state, net.class_of[tree.byte[at]])
            if following == DEAD:
                at = after
                continue
            if following > DEAD:
                even = int(arena.even[following])
                following = even if even >= 0 else evened(net, arena, scratch, following)
            if following > DEAD and after > at + WORTH_A_LOOK and arena.loops[following] < 0:
                rule_out(net, arena, following)
                loop = loops(net, arena, scratch, following)
                following = loop if loop < 0 else following
            if following < 0:
                why = following
                break
            if arena.flags[following] & CUT_SHORT:
                if scratch.used[N_CUT] >= scratch.cut.shape[0]:
                    why = NO_SCRATCH
                    break
                scratch.cut[scratch.used[N_CUT]] = at
                scratch.used[N_CUT] += 1
            path[tree.depth[at]] = following
            after = at + 1
        first, last = tree.first_token[at], tree.first_token[after]
        if n > 0 and runs[n - 1] == first:
            runs[n - 1] = last
        elif first < last:
            runs[n] = first
            runs[n + 1] = last
            n += 2
        at = after
    scratch.used[N_ALIVE] = n
    return at, why


@compiled
def allow_again(
    net: Network,
    arena: Arena,
    scratch: Scratch,
    tree: TreeNodes,
    nodes: NDArray[np.int32],
    begin: int,
    found: NDArray[np.int32],
) -> tuple[int, int]:
    """The same as `allow` for some nodes only, which are in order, each with all nodes above it."""
    at = begin
    path = scratch.path
    n = int(scratch.used[N_ALIVE])
    while at < nodes.shape[0]:
        node = nodes[at]
        depth = tree.depth[node]
        following = step(net, arena, scratch, path[depth - 1], net.class_of[tree.byte[node]])
        if following < 0:
            scratch.used[N_ALIVE] = n
            return at, following
        at += 1
        if following == DEAD:
            while at < nodes.shape[0] and nodes[at] < tree.skip[node]:
                at += 1
            continue
        path[depth] = following
        found[n] = node
        n += 1
    scratch.used[N_ALIVE] = n
    return at, 0
