"""The choice between compiled and numpy kernels."""

import importlib.util
import logging
from typing import Any

import numpy as np
import pytest

from llama.errors import SettingsError
from llama.kernels import KERNELS, open_executor
from llama.kernels.graph import Graph
from llama.kernels.tensor import Tensor


def small_graph() -> Graph:
    g = Graph()
    x = g.embed(Tensor.of("table", np.eye(32, dtype=np.float32)))
    cache = g.cache(1, 32, 32)
    assert cache == 0
    g.finish(x, x)
    return g


def test_numpy_insists() -> None:
    assert open_executor(small_graph(), kernels="numpy").name == "numpy"


def test_an_unknown_choice_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SettingsError, match=r"auto, numpy, compiled.*got cuda"):
        open_executor(small_graph(), kernels="cuda")


def test_without_numba_auto_warns_once_and_computes_in_numpy(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = importlib.util.find_spec

    def find_spec(name: str, *rest: Any) -> Any:
        return None if name == "numba" else real(name, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)
    with caplog.at_level(logging.WARNING):
        assert open_executor(small_graph()).name == "numpy"
    assert [record.message for record in caplog.records] == ["using the slow numpy kernels: numba is not installed"]
    with pytest.raises(SettingsError, match="numba is not installed"):
        open_executor(small_graph(), kernels="compiled")


def test_compiled_kernels_have_a_name_of_their_own() -> None:
    executor = open_executor(small_graph(), kernels="compiled")
    assert executor.name in KERNELS
    executor.close()


def test_small_cache_types_are_kept_in_a_more_precise_one(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        executor = open_executor(small_graph(), kernels="compiled", type_k="q4_0")
    assert "q4_0 is kept as q8_0" in caplog.text
    executor.close()
