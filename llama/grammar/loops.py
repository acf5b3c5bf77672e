"""States that reading some characters leaves as they are, such as the inside of a string.

Where all that may follow in the vocabulary's tree is made of such characters, every token there is allowed, and the
tree need not be walked. Characters come in groups, see `groups`; a node of the tree knows those below it.
"""

from llama.grammar.closure import step
from llama.grammar.groups import ASCII_GROUPS, OF_LENGTH
from llama.grammar.interning import DEAD, EVEN, MOST_MIDDLES, Arena, Scratch, wide
from llama.grammar.program import Network
from llama.grammar.shortening import evened
from llama.jit import borrowing

TYPICAL = ord("e")
LAST_LEAD = 0xF4


@borrowing
def _returns(net: Network, arena: Arena, scratch: Scratch, home: int, lead: int, length: int) -> int:
    """1 if all characters of `length` bytes that begin with `lead` lead from `home` to itself, 0 if not (or if there
    are too many ways through them); or NO_ROOM, NO_SCRATCH."""
    middles = scratch.middles
    middles[0] = home
    n = 1
    for place in range(length):
        low, high = (lead, lead) if place == 0 else _continuations(lead, place)
        n_after = 0
        for i in range(n):
            last_class = -1
            for byte in range(low, high + 1):
                byte_class = wide(net.class_of[byte])
                if byte_class == last_class:
                    continue
                last_class = byte_class
                after = step(net, arena, scratch, wide(middles[i]), byte_class)
                if after <= DEAD:
                    return after
                if n_after > 0 and middles[MOST_MIDDLES + n_after - 1] == after:
                    continue
                if n_after >= MOST_MIDDLES:
                    return 0
                middles[MOST_MIDDLES + n_after] = after
                n_after += 1
        n = n_after
        for i in range(n):
            middles[i] = middles[MOST_MIDDLES + i]
    for i in range(n):
        even = wide(arena.state[middles[i], EVEN])
        if even < 0:
            even = evened(net, arena, scratch, wide(middles[i]))
        if even != home:
            return min(even, 0)
    return 1


@borrowing
def _continuations(lead: int, place: int) -> tuple[int, int]:
    """The range of bytes at `place` (from 1) of a character that begins with `lead`."""
    low, high = 0x80, 0xBF
    if place == 1:
        if lead == 0xE0:
            low = 0xA0
        elif lead == 0xED:
            high = 0x9F
        elif lead == 0xF0:
            low = 0x90
        elif lead == LAST_LEAD:
            high = 0x8F
    return low, high


@borrowing
def loops(net: Network, arena: Arena, scratch: Scratch, state: int) -> int:
    """The groups of characters that lead from `state` to itself, as bits; or NO_ROOM, NO_SCRATCH."""
    if arena.loops[state] >= 0:
        return wide(arena.loops[state])
    found, missed = 0, 0
    last_class, last_length = -1, 0
    for number in range(-1, LAST_LEAD + 1):
        lead = TYPICAL if number < 0 else number
        if 0x80 <= lead < 0xC2:
            continue
        length = 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
        bit = 1 << (wide(ASCII_GROUPS[lead]) if length == 1 else OF_LENGTH + length)
        found |= bit
        if missed & bit != 0:
            continue
        byte_class = wide(net.class_of[lead])
        if length > 1 and lead not in (0xE0, 0xED, 0xF0, LAST_LEAD):  # those have a second byte like no other's
            if byte_class == last_class and length == last_length:
                continue
            last_class, last_length = byte_class, length
        answer = _returns(net, arena, scratch, state, lead, length)
        if answer < 0:
            return answer
        if answer == 0:
            missed |= bit
            if number < 0:  # no state of text: not worth more looking
                break
    arena.loops[state] = found & ~missed
    return found & ~missed
