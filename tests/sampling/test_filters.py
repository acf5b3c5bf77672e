"""Each filter against values worked out by hand."""

from math import e, log

import numpy as np
import pytest

from llama.sampling import filters
from llama.sampling.candidates import Candidates
from llama.sampling.draws import Generator, draw, draw_discrete
from llama.sampling.temperature import dynamic, temperature


def of(*probabilities: float) -> Candidates:
    """Candidates 0, 1, 2 ... with these probabilities."""
    with np.errstate(divide="ignore"):
        return Candidates(np.arange(len(probabilities), dtype=np.int32), np.log(np.array(probabilities, np.float32)))


def ids(candidates: Candidates) -> list[int]:
    return [int(id) for id in candidates.ids]


def test_top_k_keeps_the_largest_in_order() -> None:
    assert ids(filters.top_k(of(0.1, 0.4, 0.3, 0.2), 2)) == [1, 2]
    assert ids(filters.top_k(of(0.1, 0.4, 0.3, 0.2), 9)) == [1, 2, 3, 0]
    assert ids(filters.top_k(of(0.25, 0.25, 0.25, 0.25), 2)) == [0, 1]
    assert ids(filters.top_k(of(0.1, 0.9), 0)) == [0, 1]


@pytest.mark.parametrize(
    ("p", "min_keep", "kept"),
    [(0.4, 0, [1]), (0.7, 0, [1, 2]), (0.0, 0, [1]), (0.1, 3, [1, 2, 3]), (1.0, 0, [0, 1, 2, 3])],
)
def test_top_p_keeps_until_the_sum_is_reached(p: float, min_keep: int, kept: list[int]) -> None:
    candidates = of(0.1, 0.4, 0.3, 0.2)
    assert ids(filters.top_p(candidates, p, min_keep)) == kept
    if p < 1:
        assert ids(filters.top_p(candidates.sorted(), p, min_keep)) == kept


def test_top_p_of_a_flat_vocabulary_needs_more_than_a_look() -> None:
    flat = Candidates(np.arange(10_000, dtype=np.int32), np.zeros(10_000, np.float32))
    assert ids(filters.top_p(flat, 0.5))[:4999] == list(range(4999))


@pytest.mark.parametrize(
    ("p", "min_keep", "kept"), [(0.6, 0, {1, 2}), (0.9, 0, {1}), (1.0, 2, {1, 2}), (0.0, 0, {0, 1, 2, 3})]
)
def test_min_p_is_relative_to_the_likeliest(p: float, min_keep: int, kept: set[int]) -> None:
    candidates = of(0.1, 0.4, 0.3, 0.2)
    assert set(ids(filters.min_p(candidates, p, min_keep))) == kept
    assert set(ids(filters.min_p(candidates.sorted(), p, min_keep))) == kept


def test_typical_keeps_what_is_as_surprising_as_the_mean() -> None:
    # entropy 1.0889; surprise 0.6931, 1.3863, 1.8971, 2.3026, so |difference| 0.396, 0.297, 0.808, 1.214
    candidates = of(0.5, 0.25, 0.15, 0.1)
    assert ids(filters.typical(candidates, 0.2)) == [1]
    assert ids(filters.typical(candidates, 0.25)) == [1, 0]
    assert ids(filters.typical(candidates, 0.2, min_keep=3)) == [1, 0, 2]
    assert ids(filters.typical(of(0.5, 0.5, 0.0), 0.9)) == [0, 1]


def test_top_n_sigma_makes_the_rest_impossible() -> None:
    candidates = Candidates(np.arange(4, dtype=np.int32), np.array([4, 2, 0, -np.inf], np.float32))
    # mean 2, deviation 1.633
    assert np.isfinite(filters.top_n_sigma(candidates, 1.0).logits).tolist() == [True, False, False, False]
    assert np.isfinite(filters.top_n_sigma(candidates, 1.3).logits).tolist() == [True, True, False, False]
    assert filters.top_n_sigma(candidates, 0.0) is candidates


def test_xtc_drops_all_but_the_last_choice_that_is_likely() -> None:
    candidates = of(0.1, 0.4, 0.3, 0.2)
    assert ids(filters.xtc(candidates, 0.15)) == [3, 0]
    assert ids(filters.xtc(candidates, 0.35)) == [1, 2, 3, 0]
    assert ids(filters.xtc(candidates, 0.15, min_keep=3)) == [1, 2, 3, 0]


def test_temperature_divides_and_zero_leaves_the_first_maximum() -> None:
    candidates = Candidates(np.arange(3, dtype=np.int32), np.array([1, 2, 2], np.float32))
    assert temperature(candidates, 2.0).logits.tolist() == [0.5, 1, 1]
    for cold in (0.0, -1.0, 1e-30):
        assert temperature(candidates, cold).probabilities().tolist() == [0, 1, 0]


def test_dynamic_temperature_follows_entropy() -> None:
    flat, sure = of(0.5, 0.5), of(1.0, 0.0)
    assert dynamic(flat, 1.0, 0.5, 1.0).logits == pytest.approx(flat.logits / 1.5)
    assert dynamic(sure, 1.0, 0.5, 1.0).logits[0] == 0
    half = of(1 / (1 + e), e / (1 + e))
    share = (log(1 + e) - e / (1 + e)) / log(2)
    assert dynamic(half, 1.0, 0.5, 2.0).logits == pytest.approx(half.sorted().logits / (0.5 + share**2))
    lone = of(1.0)
    assert dynamic(lone, 1.0, 0.5, 1.0) is lone


def test_draws_are_those_of_std_mt19937() -> None:
    # std::mt19937 with seed 42 gives 1608637542, 3421126067, 4083286876, 787846414
    assert Generator(42).double() == (1608637542 + 3421126067 * 2**32) / 2**64
    assert Generator(42).single() == float(np.float32(1608637542) / np.float32(2**32))
    generator = Generator(42)
    generator.single()
    generator.single()
    assert generator.double() == (4083286876 + 787846414 * 2**32) / 2**64


def test_a_lone_candidate_uses_up_a_number_only_in_the_plain_draw() -> None:
    plain, discrete, fresh = Generator(1), Generator(1), Generator(1)
    draw(of(1.0), plain)
    draw_discrete(np.ones(1, np.float32), discrete)
    assert discrete.double() == fresh.double()
    assert plain.double() == fresh.double()


def test_draws_follow_the_probabilities() -> None:
    generator = Generator(7)
    counts = np.bincount([draw(of(0.1, 0.6, 0.3), generator)[0] for _ in range(4000)], minlength=3)
    assert counts / 4000 == pytest.approx([0.1, 0.6, 0.3], abs=0.03)


@pytest.mark.parametrize("bad", [[np.nan, 1, 0], [-np.inf] * 3, [np.inf, 0, 0], [np.nan] * 3])
def test_odd_logits_do_not_break_a_draw(bad: list[float]) -> None:
    candidates = Candidates(np.arange(3, dtype=np.int32), np.array(bad, np.float32))
    place, probabilities = draw(candidates, Generator(1))
    assert 0 <= place < 3
    assert probabilities.sum() == pytest.approx(1)
