"""Fixtures that every test may use."""

import os
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared cases beside the checkout; without it the test is skipped, or fails under CI."""
    if not SHARED.is_dir():
        reason = f"no shared cases at {SHARED}"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return SHARED
