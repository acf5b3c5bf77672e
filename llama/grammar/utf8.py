"""Ranges of code points as sequences of byte ranges (the UTF-8 of a range is a handful of such sequences)."""

from functools import lru_cache

from llama.grammar.syntax import Ranges

ByteRange = tuple[int, int]
ByteSequence = tuple[ByteRange, ...]

LENGTH_LIMITS = (0x7F, 0x7FF, 0xFFFF, 0x10FFFF)


@lru_cache(maxsize=512)
def byte_sequences(ranges: Ranges) -> tuple[ByteSequence, ...]:
    """The UTF-8 encodings of all code points in `ranges`, as disjoint sequences of byte ranges."""
    found: list[ByteSequence] = []
    for low, high in ranges:
        for limit in LENGTH_LIMITS:
            if low <= limit and low <= high:
                _split(low, min(high, limit), found)
                low = max(low, limit + 1)
    return tuple(found)


def _split(low: int, high: int, found: list[ByteSequence]) -> None:
    """Cut a range of equally long encodings where a leading byte changes, so that each part is a product of ranges."""
    pending = [(low, high)]
    while pending:
        low, high = pending.pop()
        first, last = chr(low).encode(), chr(high).encode()
        cut = None
        for tail in range(len(first) - 1, 0, -1):
            span = 1 << (6 * tail)  # code points that share the bytes before the last `tail`
            if low // span == high // span:
                continue
            if low % span:
                cut = (low // span + 1) * span
            elif (high + 1) % span:
                cut = high // span * span
            if cut is not None:
                break
        if cut is None or cut > high or cut <= low:
            found.append(tuple(zip(first, last, strict=True)))
        else:
            pending += [(cut, high), (low, cut - 1)]
