"""Groups of characters, one bit each: what the nodes of a vocabulary's tree have below them."""

import numpy as np
from numpy.typing import NDArray

from llama.jit import borrowing, compiled

MALFORMED = 1 << 58  # not UTF-8, or the middle of a character
OF_LENGTH = 58  # bit 58 + n: characters of n bytes, n = 2 .. 4


def _groups() -> NDArray[np.int64]:
    """The group of each ASCII character: letters, digits, control characters; each other one is a group of its own."""
    groups = np.full(128, 2, np.int64)
    groups[[ord(c) for c in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"]] = 0
    groups[ord("0") : ord("9") + 1] = 1
    others = [ord(c) for c in "\t\n\r !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\x7f"]
    groups[others] = np.arange(3, 3 + len(others))
    return groups


ASCII_GROUPS = _groups()


@compiled
def groups_below(byte: NDArray[np.int64], parent: NDArray[np.int32]) -> NDArray[np.int64]:
    """The groups of each node of a tree and all below it, (N,)."""
    n = byte.shape[0]
    groups = np.zeros(n, np.int64)
    left = np.zeros(n, np.int8)  # bytes that a character still lacks
    for node in range(n):
        above = int(parent[node])
        b = byte[node]
        missing = int(left[above]) if above >= 0 else 0
        if missing > 0:
            good = 0x80 <= b < 0xC0 and _second_fits(byte[above], b)
            groups[node] = 0 if good else MALFORMED
            left[node] = missing - 1 if good else 0
        elif b < 0x80:
            groups[node] = 1 << ASCII_GROUPS[b]
        elif 0xC2 <= b < 0xF5:
            length = 2 if b < 0xE0 else 3 if b < 0xF0 else 4
            groups[node] = 1 << (OF_LENGTH + length)
            left[node] = length - 1
        else:
            groups[node] = MALFORMED
    for node in range(n - 1, -1, -1):
        if parent[node] >= 0:
            groups[parent[node]] |= groups[node]
    for node in range(n):
        if parent[node] >= 0 and left[parent[node]] > 0:  # inside of a character, where no state is at home
            groups[node] |= MALFORMED
    return groups


@borrowing
def _second_fits(lead: int, byte: int) -> bool:
    """False if no character begins with these two bytes (`lead` may itself be a continuation byte)."""
    return not (
        (lead == 0xE0 and byte < 0xA0)
        or (lead == 0xED and byte > 0x9F)
        or (lead == 0xF0 and byte < 0x90)
        or (lead == 0xF4 and byte > 0x8F)
    )
