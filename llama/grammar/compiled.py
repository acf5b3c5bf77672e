"""Compiles a function with numba where it is there; without it the same function runs as plain Python, more slowly."""

import logging
from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")

try:
    import numba
except ImportError:  # a platform without numba
    numba = None
    logging.getLogger(__name__).warning("numba is missing: grammars are matched by plain Python, which is slow")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """`function` as machine code that runs without the GIL and is cached on disk."""
    if numba is None:
        return function
    return cast("Callable[P, R]", numba.njit(nogil=True, cache=True)(function))
