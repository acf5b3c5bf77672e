"""Whole tokens and whole vocabularies through a grammar, as compiled code."""

import numpy as np
from numpy.typing import NDArray

from llama.grammar.closure import step
from llama.grammar.compiled import compiled
from llama.grammar.interning import DEAD, Arena, Scratch
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
    net: Network, arena: Arena, scratch: Scratch, tree: TreeNodes, begin: int, end: int, alive: NDArray[np.bool_]
) -> tuple[int, int]:
    """Set `alive` for each of the tree's nodes `begin` .. `end` whose bytes can be read.

    scratch.path[d] is the state at depth d. Returns where it stopped, and why: 0, or NO_ROOM, NO_SCRATCH.
    """
    at = begin
    path = scratch.path
    while at < end:
        depth = tree.depth[at]
        byte_class = net.class_of[tree.byte[at]]
        state = path[depth - 1]
        following = int(arena.following[state, byte_class])
        if following < 0:
            following = step(net, arena, scratch, state, byte_class)
            if following < 0:
                return at, following
        if following == DEAD:
            at = int(tree.skip[at])
            continue
        path[depth] = following
        alive[at] = True
        at += 1
    return end, 0
