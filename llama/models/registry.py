"""Architectures by name: each module of `architectures/` registers its own."""

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache

from llama.errors import UnknownArchitecture
from llama.kernels.graph import Graph
from llama.models.hparams import HParams
from llama.models.weights import Weights

#: Builds the graph of a model from its numbers and tensors.
Build = Callable[[Graph, HParams, Weights], None]

_BUILDERS: dict[str, Build] = {}


def architecture(*names: str) -> Callable[[Build], Build]:
    """Register a function as what builds models whose `general.architecture` is one of `names`."""

    def register(build: Build) -> Build:
        for name in names:
            if name in _BUILDERS:
                raise ValueError(f"architecture {name} is registered twice")
            _BUILDERS[name] = build
        return build

    return register


def known_architectures() -> list[str]:
    """The names of all architectures, sorted."""
    return sorted(_builders())


def find_architecture(name: str) -> Build:
    """What builds `name`; UnknownArchitecture, with the known names, if nothing does."""
    build = _builders().get(name)
    if build is None:
        raise UnknownArchitecture(f"unknown model architecture {name!r}; known are {', '.join(known_architectures())}")
    return build


@cache
def _builders() -> dict[str, Build]:
    """All architectures, once every module of the package has been imported."""
    from llama.models import architectures

    for module in pkgutil.iter_modules(architectures.__path__):
        importlib.import_module(f"{architectures.__name__}.{module.name}")
    return _BUILDERS
