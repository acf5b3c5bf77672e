"""States that reading some characters leaves as they are, such as the inside of a string.

Where all that may follow in the vocabulary's tree is made of such characters, every token there is allowed, and the
tree need not be walked. Characters come in groups, see `groups`; a node of the tree knows those below it.
"""

import numpy as np

from llama.grammar.closure import step
from llama.grammar.groups import ASCII_GROUPS, OF_LENGTH
from llama.grammar.interning import DEAD, Arena, Scratch
from llama.grammar.program import Network
from llama.grammar.shortening import evened
from llama.jit import compiled

TYPICAL = ord("e")


@compiled
def _even(net: Network, arena: Arena, scratch: Scratch, state: int) -> int:
    return int(arena.even[state]) if arena.even[state] >= 0 else evened(net, arena, scratch, state)


@compiled
def _returns(net: Network, arena: Arena, scratch: Scratch, home: int, state: int, byte: int, left: int) -> int:
    """1 if `byte` and any `left` continuation bytes lead from `state` to `home`, 0 if not; or NO_ROOM, NO_SCRATCH."""
    following = step(net, arena, scratch, state, net.class_of[byte])
    if following <= DEAD:
        return following
    if left == 0:
        short = _even(net, arena, scratch, following)
        return short if short < 0 else int(short == home)
    last_class = -1
    for second in range(0x80, 0xC0):
        if (byte == 0xE0 and second < 0xA0) or (byte == 0xED and second > 0x9F):
            continue
        if (byte == 0xF0 and second < 0x90) or (byte == 0xF4 and second > 0x8F):
            continue
        if net.class_of[second] == last_class:
            continue
        last_class = int(net.class_of[second])
        middle = step(net, arena, scratch, following, last_class)
        if middle <= DEAD:
            return middle
        answer = _returns_plainly(net, arena, scratch, home, middle, left - 1)
        if answer <= 0:
            return answer
    return 1


@compiled
def _returns_plainly(net: Network, arena: Arena, scratch: Scratch, home: int, state: int, left: int) -> int:
    """The same for continuation bytes from 0x80 to 0xBF, up to two of them."""
    if left == 0:
        short = _even(net, arena, scratch, state)
        return short if short < 0 else int(short == home)
    last_class = -1
    for byte in range(0x80, 0xC0):
        if net.class_of[byte] == last_class:
            continue
        last_class = int(net.class_of[byte])
        following = step(net, arena, scratch, state, last_class)
        if following <= DEAD:
            return following
        if left == 1:
            short = _even(net, arena, scratch, following)
            if short != home:
                return min(short, 0)
            continue
        last_inner = -1
        for inner in range(0x80, 0xC0):
            if net.class_of[inner] == last_inner:
                continue
            last_inner = int(net.class_of[inner])
            end = step(net, arena, scratch, following, last_inner)
            if end <= DEAD:
                return end
            short = _even(net, arena, scratch, end)
            if short != home:
                return min(short, 0)
    return 1


@compiled
def loops(net: Network, arena: Arena, scratch: Scratch, state: int) -> int:
    """The groups of characters that lead from `state` to itself, as bits; or NO_ROOM, NO_SCRATCH."""
    if arena.loops[state] >= 0:
        return int(arena.loops[state])
    answer = _returns(net, arena, scratch, state, state, TYPICAL, 0)
    if answer < 0:
        return answer
    found = 0
    if answer > 0:
        missed = 0
        of_class = np.full(net.member.shape[1], -1, np.int64)
        for byte in range(128):
            bit = 1 << ASCII_GROUPS[byte]
            answer = int(of_class[net.class_of[byte]])
            if answer < 0:
                answer = _returns(net, arena, scratch, state, state, byte, 0)
            if answer < 0:
                return answer
            of_class[net.class_of[byte]] = answer
            found |= bit
            if answer == 0:
                missed |= bit
        for length in range(2, 5):
            first, last = (0xC2, 0xDF) if length == 2 else (0xE0, 0xEF) if length == 3 else (0xF0, 0xF4)
            bit = 1 << (OF_LENGTH + length)
            found |= bit
            last_class = -1
            for byte in range(first, last + 1):
                if byte not in (0xE0, 0xED, 0xF0, 0xF4):  # the others with these have any second byte
                    if net.class_of[byte] == last_class:
                        continue
                    last_class = int(net.class_of[byte])
                answer = _returns(net, arena, scratch, state, state, byte, length - 1)
                if answer < 0:
                    return answer
                if answer == 0:
                    missed |= bit
                    break
        found &= ~missed
    arena.loops[state] = found
    return found
