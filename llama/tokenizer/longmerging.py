"""Merges the symbols of very long words, such as a megabyte without a blank, in machine code.

It does what `merging` does, over bytes: ranks are looked up in a hash table of spelled pairs, pairs wait in a heap.
"""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from llama.jit import COMPILES, compiled

LONG = 10_000  # symbols from which compiling pays: plain Python takes a tenth of a second up to here
AVAILABLE = COMPILES
_PRIME = 1099511628211  # of the FNV-1a hash, 64 bits
_BASIS = -3750763034362895579
_BLANK = 32


class LongMerger:
    """Merges by the ranks of spelled pairs: two symbols with a blank between them if `spaced`, else side by side."""

    def __init__(self, ranks: Mapping[str, float], *, spaced: bool) -> None:
        keys = [key.encode("utf-8", "surrogatepass") for key in ranks]
        self._keys = np.frombuffer(b"".join(keys) or b"\0", np.uint8)
        self._ends = np.cumsum([0, *map(len, keys)])
        self._ranks = np.fromiter(ranks.values(), np.float64, len(keys))
        self._longest = max(map(len, keys), default=0)
        self._spaced = spaced
        self._slots = np.full(1 << (2 * len(keys) | 1).bit_length(), -1, np.int32)
        _fill(self._slots, self._keys, self._ends)

    def merge(self, symbols: list[str]) -> list[str]:
        """The symbols after all merges."""
        spelled = [symbol.encode("utf-8", "surrogatepass") for symbol in symbols]
        data = b"".join(spelled)
        ends = np.cumsum([0, *map(len, spelled)])
        table = (self._slots, self._keys, self._ends, self._ranks)
        left = _merge(np.frombuffer(data, np.uint8), ends, *table, self._longest, self._spaced)
        cuts = [*ends[:-1][left > 0].tolist(), len(data)]
        return [data[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(cuts)]


@compiled
def _hash(value: int, data: NDArray[np.uint8], start: int, end: int) -> int:
    for i in range(start, end):
        value = (value ^ data[i]) * _PRIME
    return value


@compiled
def _fill(slots: NDArray[np.int32], keys: NDArray[np.uint8], ends: NDArray[np.int64]) -> None:
    mask = len(slots) - 1
    for k in range(len(ends) - 1):
        h = _hash(_BASIS, keys, ends[k], ends[k + 1])
        slot = (h ^ (h >> 29)) & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = k


@compiled
def _equal(data: NDArray[np.uint8], start: int, end: int, keys: NDArray[np.uint8], at: int) -> bool:
    i = start
    while i < end and data[i] == keys[at + i - start]:
        i += 1
    return i == end


@compiled
def _rank(
    data: NDArray[np.uint8],
    start: int,
    middle: int,
    end: int,
    slots: NDArray[np.int32],
    keys: NDArray[np.uint8],
    ends: NDArray[np.int64],
    ranks: NDArray[np.float64],
    longest: int,
    spaced: bool,
) -> float:
    """The rank of the symbols data[start:middle] and data[middle:end], infinity if they do not go together."""
    gap = 1 if spaced else 0
    size = end - start + gap
    if size > longest:
        return np.inf
    h = _hash(_BASIS, data, start, middle)
    if spaced:
        h = (h ^ _BLANK) * _PRIME
    h = _hash(h, data, middle, end)
    mask = len(slots) - 1
    slot = (h ^ (h >> 29)) & mask
    while slots[slot] >= 0:
        k = slots[slot]
        at = ends[k]
        if ends[k + 1] - at == size and _equal(data, start, middle, keys, at):
            blank = not spaced or keys[at + middle - start] == _BLANK
            if blank and _equal(data, middle, end, keys, at + middle - start + gap):
                return ranks[k]
        slot = (slot + 1) & mask
    return np.inf


@compiled
def _before(heap_rank: NDArray[np.float64], heap_left: NDArray[np.int64], a: int, b: int) -> bool:
    return heap_rank[a] < heap_rank[b] or (heap_rank[a] == heap_rank[b] and heap_left[a] < heap_left[b])


@compiled
def _swap(
    heap_rank: NDArray[np.float64], heap_left: NDArray[np.int64], heap_size: NDArray[np.int64], a: int, b: int
) -> None:
    heap_rank[a], heap_rank[b] = heap_rank[b], heap_rank[a]
    heap_left[a], heap_left[b] = heap_left[b], heap_left[a]
    heap_size[a], heap_size[b] = heap_size[b], heap_size[a]


@compiled
def _rise(heap_rank: NDArray[np.float64], heap_left: NDArray[np.int64], heap_size: NDArray[np.int64], i: int) -> None:
    while i > 0 and _before(heap_rank, heap_left, i, (i - 1) // 2):
        _swap(heap_rank, heap_left, heap_size, i, (i - 1) // 2)
        i = (i - 1) // 2


@compiled
def _sink(heap_rank: NDArray[np.float64], heap_left: NDArray[np.int64], heap_size: NDArray[np.int64], n: int) -> None:
    i = 0
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and _before(heap_rank, heap_left, child + 1, child):
            child += 1
        if not _before(heap_rank, heap_left, child, i):
            return
        _swap(heap_rank, heap_left, heap_size, child, i)
        i = child


@compiled
def _merge(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    slots: NDArray[np.int32],
    keys: NDArray[np.uint8],
    ends: NDArray[np.int64],
    ranks: NDArray[np.float64],
    longest: int,
    spaced: bool,
) -> NDArray[np.int64]:
    """The bytes of each symbol after all merges, 0 for those that were merged into the one before.   -> (n,)"""
    n = len(starts) - 1
    sizes = starts[1:] - starts[:-1]
    after = np.arange(1, n + 1)
    before = np.arange(-1, n - 1)
    heap_rank = np.empty(3 * n + 2, np.float64)  # each merge takes one pair away and offers two
    heap_left = np.empty(3 * n + 2, np.int64)
    heap_size = np.empty(3 * n + 2, np.int64)
    used = 0
    fresh = 0  # pairs are offered once from the left to the right, then two after each merge
    offers = np.empty(2, np.int64)
    while True:
        n_offers = 0
        if fresh < n - 1:
            offers[0] = fresh
            n_offers = 1
            fresh += 1
        elif used == 0:
            return sizes
        else:
            left, size = heap_left[0], heap_size[0]
            used -= 1
            _swap(heap_rank, heap_left, heap_size, 0, used)
            _sink(heap_rank, heap_left, heap_size, used)
            right = after[left]
            if sizes[left] == 0 or right == n or sizes[left] + sizes[right] != size:
                continue
            sizes[left] = size
            sizes[right] = 0
            after[left] = after[right]
            if after[left] < n:
                before[after[left]] = left
                offers[n_offers] = left
                n_offers += 1
            if before[left] >= 0:
                offers[n_offers] = before[left]
                n_offers += 1
        for i in range(n_offers):
            left = offers[i]
            start, middle = starts[left], starts[left] + sizes[left]
            end = middle + sizes[after[left]]
            rank = _rank(data, start, middle, end, slots, keys, ends, ranks, longest, spaced)
            if rank < np.inf:
                heap_rank[used], heap_left[used], heap_size[used] = rank, left, end - start
                _rise(heap_rank, heap_left, heap_size, used)
                used += 1
