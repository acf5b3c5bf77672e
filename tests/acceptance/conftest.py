"""One gunicorn process with the tiny story model for most tests, and applications with other flags beside it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.acceptance.hosting import Client, Hosted
from tests.running import RunningServer

PRESET = ["-c", "512", "-b", "32", "-np", "2", "-n", "64", "--seed", "42", "--temp", "0.8", "--alias", "tinyllama-2"]

Host = Callable[..., Hosted]


@pytest.fixture(scope="session")
def stories(shared: Path) -> str:
    """The file of the tiny story model."""
    return str(shared / "models" / "stories260K.gguf")


@pytest.fixture(scope="session")
def process(stories: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """llama-server's own test preset, under gunicorn; each slot has its share of the context."""
    folder = tmp_path_factory.mktemp("acceptance")
    (folder / "slots").mkdir()
    flags = [*PRESET, "--metrics", "--slot-save-path", str(folder / "slots"), "--kernels", "numpy"]
    with RunningServer(folder / "log", "-m", stories, *flags) as running:
        yield running


@pytest.fixture(scope="session")
def server(process: RunningServer) -> Client:
    """A client of that process."""
    return Client(process.port)


@pytest.fixture(scope="session")
def host(stories: str) -> Iterator[Host]:
    """Gives the application with these flags added to the preset (`preset=False`: only them), made once for each."""
    made: dict[tuple[str, ...], Hosted] = {}

    def give(*flags: str, preset: bool = True, model: str = stories) -> Hosted:
        line = ("-m", model, *(PRESET if preset else ()), *flags)
        if line not in made:
            made[line] = Hosted(*line)
        return made[line]

    yield give
    for hosted in made.values():
        hosted.close()
