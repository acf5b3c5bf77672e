"""Compiles kernels, once for ever: machine code goes to a folder and is found there at the next start.

numba's own cache looks at one source file and cannot tell variants of a function apart. Here the key is everything
that decides the code: the sources of this package, the versions, the processor, and the kernel's own name.
"""

import hashlib
import itertools
import logging
import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba import types
from numba.core.bytecode import FunctionIdentity
from numba.core.ccallback import CFunc
from numba.core.compiler import CompileResult
from numba.core.sigutils import normalize_signature

from llama.kernels import detect

_log = logging.getLogger(__name__)
KERNEL = types.void(types.int64, types.int64, types.int64, types.int64)


class CodeCache:
    """A folder of compiled kernels. A folder that cannot be written or read only costs time."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._told = False

    def tell(self) -> None:
        """Say once that something is compiled: at the first start that takes a while."""
        if not self._told:
            self._told = True
            _log.info("compiling kernels for this processor, once: that takes some 10 to 30 seconds")

    def load(self, name: str) -> bytes | None:
        """The stored code of `name`, None when there is none."""
        if self.folder is None:
            return None
        try:
            return (self.folder / _file(name)).read_bytes()
        except OSError:
            return None

    def save(self, name: str, content: bytes) -> None:
        """Store the code of `name`, atomically."""
        if self.folder is None:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self.folder, delete=False) as file:
                file.write(content)
            os.replace(file.name, self.folder / _file(name))
        except OSError as problem:
            _log.info("compiled code is not kept: %s", problem)
            self.folder = None


class _Entry:
    """What a numba CFunc asks when it compiles: one kernel's place in the cache."""

    def __init__(self, store: CodeCache, name: str) -> None:
        self._store, self._name = store, name

    def load_overload(self, sig: Any, target: Any) -> Any:
        content = self._store.load(self._name)
        if content is None:
            self._store.tell()
            return None
        target.refresh()
        try:
            return CompileResult._rebuild(target, *pickle.loads(content))
        except (pickle.UnpicklingError, EOFError, AttributeError, ImportError, TypeError, ValueError, RuntimeError):
            return None

    def save_overload(self, sig: Any, result: Any) -> None:
        if self._store.folder is not None:
            self._store.save(self._name, pickle.dumps(result._reduce()))


class Compiler:
    """Turns kernel functions into addresses of machine code. Compiles each name once."""

    def __init__(self, folder: Path | None = None) -> None:
        self._store = CodeCache(folder)
        self._compiled: dict[str, Any] = {}

    def address(self, name: str, build: Callable[[], Callable[..., Any]], kind: Any = KERNEL) -> int:
        """The address of the function that `build()` returns, compiled as `kind`; `name` must tell variants apart."""
        if name not in self._compiled:
            with _own_symbols(name):
                self._compiled[name] = _compile(build(), kind, _Entry(self._store, name))
        return int(self._compiled[name].address)


@contextmanager
def _own_symbols(name: str) -> Iterator[None]:
    """Number the functions of kernel `name` in a range of its own.

    numba tells closures apart by a count that begins at 1 in each process. Two kernels compiled by two processes may
    then have the same symbol, and where both are loaded one of them would silently run the other's code.
    """
    usual = FunctionIdentity._unique_ids
    FunctionIdentity._unique_ids = itertools.count(int(hashlib.sha256(name.encode()).hexdigest()[:13], 16))
    try:
        yield
    finally:
        FunctionIdentity._unique_ids = usual


def _compile(function: Callable[..., Any], kind: Any, entry: _Entry) -> Any:
    made: Any = CFunc(
        function, normalize_signature(kind), locals={}, options={"nopython": True, "error_model": "numpy"}
    )
    made._cache = entry
    made.compile()
    return made


def _file(name: str) -> str:
    return hashlib.sha256(f"{_fingerprint()} {name}".encode()).hexdigest()[:40] + ".kernel"


@cache
def _fingerprint() -> str:
    """Changes whenever compiled code might."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    versions = (sys.version, numba.__version__, llvmlite.__version__, sorted(detect.features()))
    digest.update(repr(versions).encode())
    return digest.hexdigest()
