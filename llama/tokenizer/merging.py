"""Merges neighbouring symbols, the best pair first, until no pair has a rank."""

import math
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import pairwise

# The rank of two neighbours, the smallest merged first; `NEVER` for two that do not go together.
Rank = Callable[[str, str], float]
NEVER = math.inf
SCAN_LIMIT = 40  # symbols up to which looking through all pairs beats a heap


def merge(symbols: list[str], rank: Rank) -> list[str]:
    """The symbols after all merges; of equal ranks the leftmost goes first. `symbols` is used up."""
    return _scan(symbols, rank) if len(symbols) <= SCAN_LIMIT else _heap(symbols, rank)


def _scan(symbols: list[str], rank: Rank) -> list[str]:
    ranks = [rank(left, right) for left, right in pairwise(symbols)]
    while ranks:
        best = min(ranks)
        if best == NEVER:
            break
        i = ranks.index(best)
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]
        del ranks[i]
        if i > 0:
            ranks[i - 1] = rank(symbols[i - 1], symbols[i])
        if i < len(ranks):
            ranks[i] = rank(symbols[i], symbols[i + 1])
    return symbols


def _heap(symbols: list[str], rank: Rank) -> list[str]:
    """The same in n log n steps: symbols are a linked list, stale pairs are known by their length."""
    n = len(symbols)
    after, before = list(range(1, n + 1)), list(range(-1, n - 1))
    pairs = [(r, i, len(a) + len(b)) for i, (a, b) in enumerate(pairwise(symbols)) if (r := rank(a, b)) != NEVER]
    heapify(pairs)

    def offer(left: int, right: int) -> None:
        if left >= 0 and right < n and (r := rank(symbols[left], symbols[right])) != NEVER:
            heappush(pairs, (r, left, len(symbols[left]) + len(symbols[right])))

    while pairs:
        _, left, length = heappop(pairs)
        right = after[left]
        if not symbols[left] or right == n or len(symbols[left]) + len(symbols[right]) != length:
            continue
        symbols[left] += symbols[right]
        symbols[right] = ""
        after[left] = after[right]
        if after[left] < n:
            before[after[left]] = left
        offer(before[left], left)
        offer(left, after[left])
    return [symbol for symbol in symbols if symbol]
