"""The block pool: what is found again, what is copied, what is evicted, and that the books balance."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from llama.engine.cache import BlockPool, Chain, shared_length


class Cells:
    """Content of blocks, so that a test can see copies."""

    def __init__(self, n_blocks: int) -> None:
        self.content: list[list[int]] = [[] for _ in range(n_blocks)]
        self.copies = 0

    def copy_block(self, source: int, target: int) -> None:
        self.copies += 1
        self.content[target] = list(self.content[source])


def make(n_blocks: int, size: int = 4) -> tuple[BlockPool, Cells]:
    cells = Cells(n_blocks)
    return BlockPool(cells, n_blocks, size, 100), cells


def fill(pool: BlockPool, cells: Cells, chain: Chain, tokens: list[int]) -> bool:
    """Write `tokens` after what the chain holds, as a step of the engine does."""
    if not pool.extend(chain, len(tokens)):
        return False
    for at, token in enumerate(tokens, chain.length):
        content = cells.content[chain.blocks[at // pool.size]]
        del content[at % pool.size :]
        content.append(token)
    pool.record(chain, tokens)
    return True


def holds(pool: BlockPool, cells: Cells, chain: Chain) -> list[int]:
    return [cells.content[chain.blocks[at // pool.size]][at % pool.size] for at in range(chain.length)]


def test_a_known_beginning_is_found_to_the_token() -> None:
    pool, cells = make(16)
    first = pool.open([], 0)
    fill(pool, cells, first, list(range(10)))
    for known in range(11):
        prompt = [*range(known), 77, 78, 79]
        chain = pool.open(prompt, len(prompt) - 1)
        assert chain.length == known
        assert holds(pool, cells, chain) == list(range(known))
        pool.release(chain)
    pool.check()


def test_the_limit_is_respected_and_the_part_block_is_a_copy() -> None:
    pool, cells = make(16)
    first = pool.open([], 0)
    fill(pool, cells, first, list(range(8)))
    again = pool.open(list(range(8)), 7)
    assert (again.length, cells.copies) == (7, 1)
    assert again.blocks[0] == first.blocks[0]
    assert again.blocks[1] != first.blocks[1]


def test_an_unused_part_block_goes_on_without_a_copy() -> None:
    pool, cells = make(16)
    chain = pool.open([], 0)
    fill(pool, cells, chain, list(range(6)))
    pool.release(chain)
    again = pool.open(list(range(9)), 8)
    assert (again.length, cells.copies) == (6, 0)


def test_the_same_text_again_takes_no_more_room() -> None:
    pool, cells = make(64)
    for _ in range(20):
        chain = pool.open(list(range(11)), 10)
        fill(pool, cells, chain, list(range(chain.length, 15)))
        pool.release(chain)
    assert len(pool._idle) == 4
    pool.check()


def test_a_shared_block_is_copied_by_whoever_writes_first() -> None:
    pool, cells = make(16)
    one = pool.open([], 0)
    fill(pool, cells, one, [1, 2, 3, 4, 5])
    two = pool.fork(one)
    fill(pool, cells, two, [6])
    fill(pool, cells, one, [7])
    assert holds(pool, cells, one) == [1, 2, 3, 4, 5, 7]
    assert holds(pool, cells, two) == [1, 2, 3, 4, 5, 6]
    assert cells.copies == 1


def test_the_least_recently_used_goes_first_and_the_end_before_the_beginning() -> None:
    pool, cells = make(6)
    for tokens in ([1, 1, 1, 1, 2, 2, 2, 2], [3, 3, 3, 3, 4, 4, 4, 4]):
        chain = pool.open(tokens, 0)
        fill(pool, cells, chain, tokens)
        pool.release(chain)
    chain = pool.open([], 0)
    fill(pool, cells, chain, [9] * 12)
    assert pool.open([1, 1, 1, 1, 2, 2, 2, 2], 8).length == 4
    assert pool.open([3, 3, 3, 3, 4, 4, 4, 4], 8).length == 8


def test_short_of_blocks_nothing_changes() -> None:
    pool, cells = make(3)
    one, two = pool.open([], 0), pool.open([], 0)
    assert fill(pool, cells, one, [1] * 8)
    assert not pool.extend(two, 5)
    assert two.blocks == []
    assert pool.extend(two, 4)
    pool.check()


def test_a_running_text_shares_what_it_has_read_so_far() -> None:
    pool, cells = make(16)
    one = pool.open([], 0)
    fill(pool, cells, one, [1, 2, 3, 4])
    two = pool.open([9], 0)
    assert two.length == 0
    late = pool.chain()
    assert pool.adopt(late, [1, 2, 3, 4, 5, 6, 7, 8, 9], 8) == 4
    fill(pool, cells, one, [5, 6, 7, 8])
    assert pool.adopt(late, [1, 2, 3, 4, 5, 6, 7, 8, 9], 8) == 4
    assert late.blocks == one.blocks


def test_forgotten_is_not_found() -> None:
    pool, cells = make(16)
    chain = pool.open([], 0)
    fill(pool, cells, chain, list(range(10)))
    pool.release(chain)
    pool.forget(list(range(10)))
    assert pool.open(list(range(10)), 9).length == 0
    assert pool.available == 16


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 1 << 30), st.integers(1, 5))
def test_chains_hold_their_own_tokens_whatever_happens(seed: int, size: int) -> None:
    rng = random.Random(seed)
    pool, cells = make(rng.randint(4, 20), size)
    open_chains: list[tuple[Chain, list[int]]] = []
    for _ in range(80):
        action = rng.random()
        if action < 0.35 or not open_chains:
            tokens = [rng.randint(0, 1) for _ in range(rng.randint(1, 12))]
            chain = pool.open(tokens, rng.randint(0, len(tokens)))
            open_chains.append((chain, tokens[: chain.length]))
        elif action < 0.7:
            chain, tokens = rng.choice(open_chains)
            more = [rng.randint(0, 1) for _ in range(rng.randint(1, 6))]
            if fill(pool, cells, chain, more):
                tokens.extend(more)
        elif action < 0.8:
            chain, tokens = rng.choice(open_chains)
            open_chains.append((pool.fork(chain), list(tokens)))
        elif action < 0.85:
            chain, tokens = rng.choice(open_chains)
            pool.truncate(chain, rng.randint(0, chain.length))
            del tokens[chain.length :]
        else:
            chain, _ = open_chains.pop(rng.randrange(len(open_chains)))
            pool.release(chain)
        pool.check()
        for chain, tokens in open_chains:
            assert holds(pool, cells, chain) == tokens
            assert chain.row[: len(chain.blocks)].tolist() == chain.blocks


@given(st.lists(st.integers(0, 2)), st.lists(st.integers(0, 2)))
def test_shared_length_is_that_of_the_common_beginning(a: list[int], b: list[int]) -> None:
    n = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    assert shared_length(a, b) == n
