"""Sequences that must not be said."""

import pytest

from llama.sampling.words import BadWords


@pytest.mark.parametrize(
    ("said", "forbidden"),
    [
        ([], [9]),
        ([1], [9, 2]),
        ([1, 2], [9, 3]),
        ([1, 1], [9, 2]),
        ([5, 1, 2], [9, 3]),
        ([1, 2, 5], [9]),
        ([2], [9]),
    ],
)
def test_the_token_that_would_complete_a_sequence(said: list[int], forbidden: list[int]) -> None:
    words = BadWords([[9], [1, 2], [1, 2, 3], [7, 7, 7, 7]])
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
