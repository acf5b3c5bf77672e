"""Selecting from logits: compiled and plain code agree, ties go to the lower id, odd values do no harm."""

import numpy as np
import pytest

from llama.kernels import select


@pytest.mark.parametrize("n", [1, 5, 63, 64, 65, 1000, 5000])
@pytest.mark.parametrize("kind", ["smooth", "ties", "impossible", "nan", "equal", "rising"])
def test_the_heap_agrees_with_sorting(n: int, kind: str) -> None:
    rng = np.random.default_rng(n)
    logits = rng.standard_normal(n).astype(np.float32)
    if kind == "ties":
        logits = np.round(logits)
    elif kind in ("impossible", "nan"):
        logits[rng.integers(0, n, n // 2 + 1)] = -np.inf if kind == "impossible" else np.nan
    elif kind == "equal":
        logits[:] = 1
    elif kind == "rising":
        logits.sort()
    clean = np.where(np.isnan(logits), -np.inf, logits)
    order = np.lexsort((np.arange(n), -clean))
    for k in (1, 2, 40, 70, 1024, 2000):
        ids, values = select.top_k(logits, k)
        assert ids.tolist() == order[:k].tolist()
        assert values.tolist() == clean[order[:k]].tolist()
        plain, _ = select._top_k_sorted(logits, min(k, n))
        assert plain.tolist() == ids.tolist()


def test_no_logits_at_all_may_be_asked_for() -> None:
    assert len(select.top_k(np.zeros(3, np.float32), 0)[0]) == 0
    assert len(select._top_k_sorted(np.zeros(3, np.float32), 0)[0]) == 0


def test_argmax_and_log_sum_exp() -> None:
    logits = np.array([1, 3, 3, np.nan, -np.inf], np.float32)
    assert select.argmax(logits) == 1
    assert select.log_sum_exp(logits) == pytest.approx(3 + np.log(2 + np.exp(-2)))
    assert select.log_sum_exp(np.full(4, -np.inf, np.float32)) == -np.inf
    assert select.log_sum_exp(np.full(4, 1e30, np.float32)) == pytest.approx(1e30)


def test_repeats_agree_with_comparing_everywhere() -> None:
    rng = np.random.default_rng(3)
    for n in (0, 1, 2, 30, 200):
        tokens = rng.integers(0, 2, n).astype(np.int32)
        slow = [0] * n
        for k in range(1, n):
            while k + slow[k] < n and tokens[slow[k]] == tokens[k + slow[k]]:
                slow[k] += 1
        assert select.repeats(tokens, 5).tolist() == [min(length, 5) for length in slow]


@pytest.mark.parametrize("compiles", [True, False])
def test_a_mask_leaves_the_allowed_logits(compiles: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(select, "COMPILES", compiles and select.COMPILES)
    logits = np.array([1, np.nan, 3, -np.inf, 5], np.float32)
    mask = np.array([True, True, False, True, False])
    mask.flags.writeable = False
    masked = select.masked(logits, mask)
    assert masked.dtype == np.float32
    np.testing.assert_array_equal(masked, [1, np.nan, -np.inf, -np.inf, -np.inf])
    assert logits[2] == 3
