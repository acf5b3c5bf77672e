"""What the next step works on: one token of each sequence that speaks, then as much prompt as the budget allows."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from llama.engine.cache import BlockPool, Chain, Lora
from llama.engine.sequence import Sequence

# A text flows, and prompts are held back for its sake, once it has said so many tokens, or began so many seconds ago.
# Until then it rather waits once more for prompts that came together with its own.
FLOWING_TOKENS = 8
FLOWING_SECONDS = 0.15


@dataclass(slots=True)
class Share:
    """The next `n` pending tokens of a sequence."""

    sequence: Sequence
    n: int
    speaks: bool = False  # the one pending token of a sequence, so that it can say the next
    row: int = 0  # where its results begin, and how many there are; known when the batch is put together
    n_outputs: int = 0


def wanted(
    running: Iterable[Sequence],
    budget: Callable[[int], int],
    most: Callable[[Sequence], int],
    *,
    sharing: bool = True,
) -> list[Share]:
    """Whose tokens should be in the next step, first come first served.

    `budget(n)` is the room for prompts beside n flowing texts, `most(sequence)` a limit for one of them. With
    `sharing`, a sequence waits while another reads the very same tokens: it will find them in the cache.
    """
    shares: list[Share] = []
    reading: list[Sequence] = []
    for sequence in running:
        if sequence.pending == 1:
            shares.append(Share(sequence, 1, speaks=True))
        elif sequence.pending:
            reading.append(sequence)
    if not reading:  # the usual step: there is no budget to be made
        return shares
    now = time.monotonic()
    left = budget(sum(_flows(share.sequence, now) for share in shares))
    being_read: dict[tuple[Lora, int, int], Sequence] = {}
    for sequence in reading:
        if left > 0 and not (sharing and _is_read_already(sequence, being_read)):
            share = Share(sequence, min(sequence.pending, left, most(sequence)))
            shares.append(share)
            left -= share.n
    return shares


def _flows(sequence: Sequence, now: float) -> bool:
    """Whether a reader counts on the next token coming soon."""
    return sequence.writer.n_tokens >= FLOWING_TOKENS or 0 < sequence.first_token < now - FLOWING_SECONDS


def _is_read_already(sequence: Sequence, being_read: dict[tuple[Lora, int, int], Sequence]) -> bool:
    """True if a sequence of this step reads the same 16 tokens after the same beginning; else note this one.

    With other adapters it is not the same.
    """
    chain = sequence.chain
    if chain is None or chain.length >= sequence.reusable:
        return False
    at = chain.length
    key = (chain.lora, at, sequence.tokens[at])
    other = being_read.setdefault(key, sequence)
    if other is sequence:
        return False
    end = at + 16
    return end <= sequence.reusable and other.tokens[:end] == sequence.tokens[:end]


def grant(shares: list[Share], pool: BlockPool, make_room: Callable[[Sequence], bool]) -> list[Share]:
    """The shares that get cache blocks, oldest sequence first; the others wait for a later step.

    `make_room(sequence)` frees blocks for the good of `sequence`, by taking them from a younger one, and says whether
    it could. A share whose sequence lost its blocks that way is left out.
    """
    granted: list[Share] = []
    for share in sorted(shares, key=lambda share: share.sequence.arrival):
        chain = share.sequence.chain
        while chain is not None and not pool.extend(chain, share.n):
            if not make_room(share.sequence):
                share.n = _what_fits(chain, pool) if not granted else 0
                if not (share.n and pool.extend(chain, share.n)):
                    chain = None
                break
        if chain is not None and share.sequence.chain is chain:
            granted.append(share)
    return granted


def _what_fits(chain: Chain, pool: BlockPool) -> int:
    """Tokens for which there is room without taking anybody's block."""
    free = max(0, pool.available - 1)
    return len(chain.blocks) * pool.size - chain.length + free * pool.size
