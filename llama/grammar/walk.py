"""Whole tokens and whole vocabularies through a grammar, as compiled code."""

import numpy as np
from numpy.typing import NDArray

from llama.grammar.closure import step
from llama.grammar.compiled import compiled
from llama.grammar.interning import CUT_SHORT, DEAD, N_ALIVE, N_CUT, NO_SCRATCH, Arena, Scratch
from llama.grammar.program import Network
from llama.grammar.tree import TreeNodes


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
    net: Network, arena: Arena, scratch: Scratch, tree: TreeNodes, begin: int, found: NDArray[np.int32]
) -> tuple[int, int]:
    """Collect in `found` each of the tree's nodes from `begin` on whose bytes can be read.

    scratch.path[d] is the state at depth d; scratch.used[N_ALIVE] counts the nodes. Returns where it stopped, and why:
    0, or NO_ROOM, NO_SCRATCH.
    """
    at = begin
    path = scratch.path
    end = tree.byte.shape[0]
    n = int(scratch.used[N_ALIVE])
    while at < end:
        depth = tree.depth[at]
        byte_class = net.class_of[tree.byte[at]]
        state = path[depth - 1]
        following = int(arena.following[state, byte_class])
        if following < 0:
            following = step(net, arena, scratch, state, byte_class)
            if following < 0:
                scratch.used[N_ALIVE] = n
                return at, following
        if following == DEAD:
            at = int(tree.skip[at])
            continue
        if arena.flags[following] & CUT_SHORT:
            if scratch.used[N_CUT] >= scratch.cut.shape[0]:
                scratch.used[N_ALIVE] = n
                return at, NO_SCRATCH
            scratch.cut[scratch.used[N_CUT]] = at
            scratch.used[N_CUT] += 1
        path[depth] = following
        found[n] = at
        n += 1
        at += 1
    scratch.used[N_ALIVE] = n
    return end, 0


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
