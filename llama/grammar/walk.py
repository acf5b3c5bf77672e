"""Whole tokens and whole vocabularies through a grammar, as compiled code."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from llama.grammar.closure import rule_out, step
from llama.grammar.interning import CUT_SHORT, DEAD, EVEN, N_ALIVE, N_CUT, STATE_FLAGS, Arena, Scratch, wide
from llama.grammar.loops import loops
from llama.grammar.program import Ints, Network
from llama.grammar.shortening import evened
from llama.grammar.tree import FIRST_TOKEN, GROUPS, PLACE, SKIP, TreeNodes
from llama.jit import borrowing

WORTH_A_LOOK = 16  # nodes below a state that make it worth asking which characters leave it as it is


class Course(NamedTuple):
    """A walk through the vocabulary's tree."""

    path: Ints  # (depths + 1,) the state at each depth
    found: Ints  # runs of tokens (from, to, from, to ...), or nodes; scratch.used[N_ALIVE] says how many
    cut: Ints  # nodes at which a stack that was cut off ran out; scratch.used[N_CUT] says how many


@borrowing
def read(net: Network, arena: Arena, scratch: Scratch, state: int, text: NDArray[np.uint8]) -> int:
    """The state after `state` reads `text`; DEAD, or NO_ROOM, NO_SCRATCH."""
    for i in range(text.shape[0]):
        state = step(net, arena, scratch, state, wide(net.class_of[text[i]]))
        if state <= DEAD:
            break
    return state


@borrowing
def allow(net: Network, arena: Arena, scratch: Scratch, tree: TreeNodes, course: Course, begin: int) -> tuple[int, int]:
    """Collect the tokens of the tree's nodes from `begin` on that can be read after course.path[0], a shortened state.

    Returns where it stopped, and why: 0, or NO_ROOM, NO_SCRATCH.
    """
    path, runs, node = course.path, course.found, tree.node
    at, end = begin, node.shape[0] - 1
    n = wide(scratch.used[N_ALIVE])
    why = 0
    if begin == 0:
        rule_out(net, arena, wide(path[0]))
        why = min(loops(net, arena, scratch, wide(path[0])), 0)
    while at < end and why == 0:
        depth = node[at, PLACE] >> 8
        state = wide(path[depth - 1])
        after = node[at, SKIP]
        # else: all of the subtree is characters that change nothing
        if node[at, GROUPS] & ~max(arena.loops[state], 0) != 0:
            byte_class = wide(net.class_of[node[at, PLACE] & 0xFF])
            following = wide(arena.following[state, byte_class])
            if following > DEAD:
                following = wide(arena.state[following, EVEN])
            look = after > at + WORTH_A_LOOK
            if following < 0 or (look and arena.loops[following] < 0):  # a call costs more than all else here
                following = _arrived(net, arena, scratch, state, byte_class, look)
            if following < 0:
                why = following
                break
            if following == DEAD:
                at = after
                continue
            if arena.state[following, STATE_FLAGS] & CUT_SHORT:
                course.cut[scratch.used[N_CUT]] = at
                scratch.used[N_CUT] += 1
            path[depth] = following
            after = at + 1
        first, last = node[at, FIRST_TOKEN], node[after, FIRST_TOKEN]
        if n > 0 and runs[n - 1] == first:
            runs[n - 1] = last
        elif first < last:
            runs[n] = first
            runs[n + 1] = last
            n += 2
        at = after
    scratch.used[N_ALIVE] = n
    return at, why


@borrowing
def _arrived(net: Network, arena: Arena, scratch: Scratch, state: int, byte_class: int, look: bool) -> int:
    """The evened state after `state` reads a byte; `look`: with its loops found out. DEAD, or NO_ROOM, NO_SCRATCH."""
    following = step(net, arena, scratch, state, byte_class)
    if following > DEAD:
        following = evened(net, arena, scratch, following)
    if following > DEAD and look and arena.loops[following] < 0:
        rule_out(net, arena, following)
        loop = loops(net, arena, scratch, following)
        following = loop if loop < 0 else following
    return following


@borrowing
def allow_again(
    net: Network, arena: Arena, scratch: Scratch, tree: TreeNodes, course: Course, nodes: Ints, begin: int
) -> tuple[int, int]:
    """Collect those of `nodes` (in order, each with all nodes above it) that can be read after course.path[0]."""
    at = begin
    path = course.path
    n = wide(scratch.used[N_ALIVE])
    while at < nodes.shape[0]:
        node = wide(nodes[at])
        depth = tree.node[node, PLACE] >> 8
        byte_class = wide(net.class_of[tree.node[node, PLACE] & 0xFF])
        following = wide(arena.following[path[depth - 1], byte_class])
        if following < 0:
            following = step(net, arena, scratch, wide(path[depth - 1]), byte_class)
        if following < 0:
            scratch.used[N_ALIVE] = n
            return at, following
        at += 1
        if following == DEAD:
            while at < nodes.shape[0] and nodes[at] < tree.node[node, SKIP]:
                at += 1
            continue
        path[depth] = following
        course.found[n] = node
        n += 1
    scratch.used[N_ALIVE] = n
    return at, 0
