"""One code cache and one set of threads for all tests of kernels."""

from collections.abc import Iterator

import pytest

from llama.kernels.codecache import Compiler
from llama.kernels.compiled import default_code_folder
from llama.kernels.threads import Threads


@pytest.fixture(scope="session")
def compiler() -> Compiler:
    return Compiler(default_code_folder())


@pytest.fixture(scope="session")
def threads(compiler: Compiler) -> Iterator[Threads]:
    pool = Threads(2, compiler)
    yield pool
    pool.close()
