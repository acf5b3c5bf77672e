"""One vector for a text."""

import numpy as np
import pytest

from llama.errors import NotSupported
from llama.models.pooling import PoolingHead, pool

HIDDEN = np.array([[1, 2], [3, 4], [5, 9]], np.float32)


@pytest.mark.parametrize(("kind", "wanted"), [("mean", [3, 5]), ("cls", [1, 2]), ("last", [5, 9])])
def test_kinds(kind: str, wanted: list[float]) -> None:
    assert pool(HIDDEN, kind, PoolingHead()).tolist() == wanted


def test_dense_layers_follow() -> None:
    head = PoolingHead(
        dense=((np.array([[2, 0], [0, 1], [1, 1]], np.float32), None), (np.array([[1, 1, 1]], np.float32), None))
    )
    assert pool(HIDDEN, "cls", head).tolist() == [7]


def test_rank_goes_through_the_classifier() -> None:
    swap, total = np.array([[0, 1], [1, 0]], np.float32), np.array([[1, 1]], np.float32)
    head = PoolingHead(cls=(swap, None), cls_out=(total, np.array([0.5], np.float32)))
    assert pool(HIDDEN, "rank", head) == pytest.approx([np.tanh(2) + np.tanh(1) + 0.5])
    assert pool(HIDDEN, "rank", PoolingHead(cls=(total, None))) == pytest.approx([np.tanh(3)])
    last = PoolingHead(cls_out=(swap, None), rank_of="last", softmax=True)
    assert pool(HIDDEN, "rank", last) == pytest.approx([1 / (1 + np.exp(-4)), 1 / (1 + np.exp(4))])
    modern = PoolingHead(cls=(np.eye(2, dtype=np.float32), None), cls_norm=np.ones(2, np.float32), gelu=True)
    assert pool(HIDDEN, "rank", modern) == pytest.approx([-1, 1], abs=1e-3)


@pytest.mark.parametrize("kind", ["none", "rank"])
def test_models_without_what_it_takes_are_refused(kind: str) -> None:
    with pytest.raises(NotSupported):
        pool(HIDDEN, kind, PoolingHead())
