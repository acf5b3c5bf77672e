"""Sequences that must not be said."""

import numpy as np
import pytest

from llama.sampling import Sampler, SamplingParams, SamplingVocab
from llama.sampling.words import BadWords


@pytest.mark.parametrize(
    ("said", "forbidden"),
    [
        ([], []),
        ([1], [2]),
        ([1, 2], [3]),
        ([1, 1], [2]),
        ([5, 1, 2], [3]),
        ([8, 1, 2], [3, 4]),
        ([1, 2, 5], []),
        ([2], []),
    ],
)
def test_the_token_that_would_complete_a_sequence(said: list[int], forbidden: list[int]) -> None:
    words = BadWords([[9], [1, 2], [1, 2, 3], [7, 7, 7, 7], [8, 1, 2, 4]])
    for token in said:
        words.push(token)
    assert words.forbidden() == forbidden


def test_a_sequence_that_overlaps_itself() -> None:
    words = BadWords([(4, 4, 5)])
    found = []
    for token in (4, 4, 4, 6, 4):
        words.push(token)
        found.append(words.forbidden())
    assert found == [[], [5], [5], [], []]


def test_thousands_of_sequences_are_not_looked_through_at_each_token() -> None:
    looked = []

    class Token(int):
        def __eq__(self, other: object) -> bool:
            looked.append(other)
            return int(self) == other

        __hash__ = int.__hash__

    words = BadWords([[*map(Token, (number, 1)), Token(number)] for number in range(5000)])
    words.push(77)
    words.push(1)
    assert words.forbidden() == [77]
    assert len(looked) < 100


def test_sequences_of_one_token_are_forbidden_everywhere() -> None:
    vocab = SamplingVocab(4, frozenset(), [b"a", b"b", b"c", b"d"], lambda text: [])
    sampler = Sampler(SamplingParams(temperature=0.0, bad_words=((3,), (1, 2)), logit_bias=((3, 50.0),)), vocab)
    logits = np.array([0, 1, 2, 3], np.float32)
    picked = []
    for token in (2, 1, 1, 2):
        picked.append(sampler.sample(logits).token)
        sampler.accept(token)
    assert picked == [2, 2, 1, 1]
