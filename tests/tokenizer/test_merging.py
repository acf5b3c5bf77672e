"""Merging: three ways to the same symbols, in work that grows with the text and not with its square."""

import random
from collections.abc import Callable
from itertools import pairwise

import pytest

from llama.tokenizer import load_vocab
from llama.tokenizer.longmerging import AVAILABLE, LONG, LongMerger
from llama.tokenizer.merging import NEVER, SCAN_LIMIT, merge
from tests.tokenizer.small import gemma4, pieces, spm

RANKS = {f"{text[:n]} {text[n:]}": (i * 7) % 101 for i, text in enumerate(pieces()) for n in range(1, len(text))}
BESIDE = {text: (i * 7) % 101 for i, text in enumerate(pieces())}


def spaced(left: str, right: str) -> float:
    return RANKS.get(f"{left} {right}", NEVER)


def beside(left: str, right: str) -> float:
    return BESIDE.get(left + right, NEVER)


def obvious(symbols: list[str], rank: Callable[[str, str], float]) -> list[str]:
    """Merge the best pair, the leftmost of equals, until none is left."""
    while len(symbols) > 1:
        best, i = min((rank(a, b), i) for i, (a, b) in enumerate(pairwise(symbols)))
        if best == NEVER:
            break
        symbols = [*symbols[:i], symbols[i] + symbols[i + 1], *symbols[i + 2 :]]
    return symbols


def letters(n: int, seed: int) -> list[str]:
    return random.Random(seed).choices("thequickbrownfx▁▁▁приветмéö中文1234", k=n)


@pytest.mark.parametrize("n", [0, 1, 2, 5, SCAN_LIMIT, SCAN_LIMIT + 1, 150])
@pytest.mark.parametrize("rank", [spaced, beside])
def test_short_and_long_words_merge_the_obvious_way(n: int, rank: Callable[[str, str], float]) -> None:
    for seed in range(20):
        symbols = letters(n, seed)
        assert merge(list(symbols), rank) == obvious(symbols, rank)


@pytest.mark.skipif(not AVAILABLE, reason="numba is missing")
@pytest.mark.parametrize("n", [0, 1, 2, 39, 700])
def test_machine_code_merges_as_python_does(n: int) -> None:
    for seed in range(10):
        symbols = letters(n, seed)
        assert LongMerger(RANKS, spaced=True).merge(list(symbols)) == merge(list(symbols), spaced)
        assert LongMerger(BESIDE, spaced=False).merge(list(symbols)) == merge(list(symbols), beside)


def test_work_grows_with_the_word_and_not_with_its_square() -> None:
    def asked(n: int) -> int:
        calls = 0

        def counted(left: str, right: str) -> float:
            nonlocal calls
            calls += 1
            return beside(left, right)

        merge(["▁"] * n, counted)
        return calls

    assert asked(20_000) < 2.2 * asked(10_000)
    assert asked(20_000) < 3 * 20_000


@pytest.mark.parametrize("metadata", [spm(add_space_prefix=False), gemma4("gpt2", "sarvam-moe")])
@pytest.mark.parametrize("unit", ["a", " ", "🦙", "中", "t", "\n", "the", " x"])
def test_a_megabyte_without_a_word_in_it(metadata: dict[str, object], unit: str) -> None:
    vocab = load_vocab(metadata)
    text = unit * (1_000_000 // len(unit.encode()))
    assert len(text) > LONG
    assert vocab.decode(vocab.encode(text, add_special=False)) == text
