"""Whole tokens and whole vocabularies through a grammar, as compiled code."""

import numpy as np
from numpy.typing import NDArray

from llama.grammar.closure import DEAD, Arena, Scratch, step
from llama.grammar.compiled import compiled
from llama.grammar.program import Network
from llama.grammar.tree import TrieNodes


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
    net: Network, arena: Arena, scratch: Scratch, trie: TrieNodes, begin: int, end: int, mask: NDArray[np.bool_]
) -> tuple[int, int]:
    """Set `mask` for every token of the trie's nodes `begin` .. `end` that can be read.

    scratch.path[d] is the state at depth d. Returns where it stopped, and why: 0, or NO_ROOM, NO_SCRATCH.
    """
    at = begin
    path = scratch.path
    while at < end:
        depth = trie.depth[at]
        byte_class = net.class_of[trie.byte[at]]
        state = path[depth - 1]
        following = int(arena.following[state, byte_class])
        if following < 0:
            following = step(net, arena, scratch, state, byte_class)
            if following < 0:
                return at, following
        if following == DEAD:
            at = int(trie.skip[at])
            continue
        path[depth] = following
        for token in range(trie.first_token[at], trie.first_token[at + 1]):
            mask[trie.token[token]] = True
        at += 1
    return end, 0
