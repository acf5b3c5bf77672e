"""Compiles a function with numba where that is installed; without it the same function runs as plain Python.

The packages whose loops are worth compiling may not all import each other, so what they share stands below them.
"""

import hashlib
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import ParamSpec, TypeVar, cast

from llama.folder import default_cache_dir

P = ParamSpec("P")
R = TypeVar("R")

try:
    import numba
except ImportError:  # a platform without numba
    numba = None

#: Whether functions are compiled at all.
COMPILES = numba is not None
_SOURCES = Path(__file__).parent
_log = logging.getLogger(__name__)


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """`function` as machine code that runs without the GIL, kept on disk where there is a folder to keep it in."""
    return _compiled(function)


def borrowing(function: Callable[P, R]) -> Callable[P, R]:
    """The same for a function that only borrows the arrays it is given: it makes none, keeps none and returns none.

    numba then leaves out the counting of references, two atomic operations for each array at every call: most of the
    time, where small functions hand many tables on to each other.
    """
    return _compiled(function, _nrt=False)


def _compiled(function: Callable[P, R], **options: bool) -> Callable[P, R]:
    if numba is None:
        return function
    folder = _folder(function.__module__.split(".")[1])
    if folder is None:
        return cast("Callable[P, R]", numba.njit(nogil=True, **options)(function))
    with _kept_in(folder):
        return cast("Callable[P, R]", numba.njit(nogil=True, cache=True, **options)(function))


@cache
def _folder(package: str) -> Path | None:
    """Where the code of a package is kept: a new folder whenever one of its sources changes.

    numba looks only at the file that a function is in, and would go on using code that calls an older version of a
    function of another file.
    """
    digest = hashlib.sha256()
    for source in sorted((_SOURCES / package).rglob("*.py")):
        digest.update(source.read_bytes())
    folder = default_cache_dir() / "jit" / f"{package}-{digest.hexdigest()[:16]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        _log.info("compiled code is not kept: %s", problem)
        return None
    return folder if os.access(folder, os.W_OK) else None


@contextmanager
def _kept_in(folder: Path) -> Iterator[None]:
    """Let numba keep in `folder` what is declared meanwhile."""
    usual = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = usual


def is_kept(package: str) -> bool:
    """Whether the compiled code of `package` is on disk already, or could not be kept there anyway."""
    folder = _folder(package) if COMPILES else None
    return folder is None or any(folder.rglob("*.nbi"))
