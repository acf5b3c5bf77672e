"""Fixtures that every test may use."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.running import RunningServer

SHARED = Path(__file__).resolve().parents[2] / "shared"


def absent(reason: str) -> None:
    """Skip for a reason; under CI, fail: nothing may be missing there."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared cases beside the checkout; without it the test is skipped, or fails under CI."""
    if not SHARED.is_dir():
        absent(f"no shared cases at {SHARED}")
    return SHARED


@pytest.fixture(scope="session")
def default_model() -> Path:
    """The default model's file, fetched into the cache folder when it is not there yet."""
    from llama.cli.model import default_model_path
    from llama.errors import DownloadError

    try:
        return default_model_path()
    except DownloadError as error:
        absent(f"no default model: {error}")
        raise


@pytest.fixture(scope="session")
def real_server(default_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """The default model under real gunicorn, shared by all tests that only talk to it."""
    log = tmp_path_factory.mktemp("server") / "log"
    with RunningServer(log, "-m", str(default_model), "-np", "8", "--kv-unified", "-c", "8192", "--metrics") as server:
        yield server
