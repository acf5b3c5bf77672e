"""Compiles a function with numba where that is installed; without it the same function runs as plain Python.

The three packages whose loops are worth compiling (`kernels`, `tokenizer`, `grammar`) stand side by side and may not
import each other, so what they share stands below them.
"""

import logging
from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")

try:
    import numba
except ImportError:  # a platform without numba
    numba = None

#: Whether functions are compiled at all.
COMPILES = numba is not None
_log = logging.getLogger(__name__)


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """`function` as machine code that runs without the GIL, kept on disk where numba finds a folder it may write to."""
    if numba is None:
        return function
    try:
        return cast("Callable[P, R]", numba.njit(nogil=True, cache=True)(function))
    except RuntimeError as problem:
        _log.info("compiled code is not kept: %s", problem)
        return cast("Callable[P, R]", numba.njit(nogil=True)(function))
