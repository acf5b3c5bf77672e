"""Compiled loops are kept in a folder of their own that changes with the sources, and nothing breaks without one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from llama import jit
from llama.grammar.warming import Warming

ROOT = Path(__file__).resolve().parents[1]
SUM = "import numpy as np; from llama.kernels.select import argmax, top_k; print(top_k(np.arange(9, dtype='f4'), 2)[0])"


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A made-up package beside an empty cache folder."""
    monkeypatch.setattr(jit, "_SOURCES", tmp_path)
    monkeypatch.setattr(jit, "default_cache_dir", lambda: tmp_path / "cache")
    package = tmp_path / "package"
    package.mkdir()
    (package / "caller.py").write_text("caller")
    (package / "callee.py").write_text("callee")
    return package


def test_a_change_of_any_source_of_the_package_leads_to_another_folder(sources: Path) -> None:
    before = jit._folder.__wrapped__("package")
    assert before is not None
    assert before.is_dir()
    assert jit._folder.__wrapped__("package") == before
    (sources / "callee.py").write_text("another callee")
    assert jit._folder.__wrapped__("package") not in (before, None)


def test_without_a_place_for_the_folder_there_is_none(sources: Path) -> None:
    (sources.parent / "cache").write_text("a file, not a folder")
    assert jit._folder.__wrapped__("package") is None


def test_functions_compile_where_no_folder_can_be_made() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SUM],
        cwd=ROOT,
        env={**os.environ, "HOME": "/dev/null"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.split() == ["[8", "7]"], done.stderr


def test_what_is_kept_is_not_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llama.grammar.warming.is_kept", lambda package: True)
    assert not Warming.started().running


def test_whoever_needs_the_matcher_waits_for_the_process_that_compiles_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llama.grammar.warming.is_kept", lambda package: False)
    warming = Warming.started()
    assert warming.running
    warming.wait()
    assert not warming.running
    assert jit.is_kept("grammar")


def test_a_process_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    warming = Warming(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]))
    warming.wait(0.1)
    assert not warming.running
