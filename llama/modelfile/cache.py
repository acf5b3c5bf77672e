"""Where fetched models are kept, and how a file gets there: under another name first, checked, then renamed."""

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from tqdm import tqdm

from llama.errors import DownloadError

CHUNK = 1 << 20


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Makes `folder`; what goes wrong with the disk inside becomes a DownloadError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as problem:
        raise DownloadError(
            f"the model cannot be kept in {folder}: {problem}; choose another folder by LLAMA_CACHE, or pass -m"
        ) from problem


def keep(source: IO[bytes], size: int, sha256: str, target: Path) -> Path:
    """Copies `size` bytes to a temporary name beside `target`, checks their hash, and renames."""
    temporary = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    digest = hashlib.sha256()
    try:
        with temporary.open("wb") as file, progress(target.name, size) as bar:
            while chunk := source.read(CHUNK):
                digest.update(chunk)
                file.write(chunk)
                bar.update(len(chunk))
        _check(digest.hexdigest(), sha256, target.name)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return target


def check_file(path: Path, sha256: str, name: str) -> None:
    """Raises DownloadError, and removes the file, unless it has this hash."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    try:
        _check(found, sha256, name)
    except DownloadError:
        path.unlink()
        raise


def _check(found: str, wanted: str, name: str) -> None:
    if found != wanted:
        raise DownloadError(f"{name} came damaged: its sha256 is {found}, not {wanted}; try again")


class Bar(tqdm):  # type: ignore[type-arg]
    """A progress bar in bytes that shows on a terminal only."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "disable": not sys.stderr.isatty()})


def progress(name: str, size: int) -> Bar:
    """A bar for a file of `size` bytes."""
    return Bar(desc=name, total=size, unit="B", unit_scale=True)
