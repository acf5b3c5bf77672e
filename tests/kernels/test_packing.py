"""Packed weights are the weights of the file, whatever their type and shape."""

import numpy as np
import pytest

from llama.kernels.codecache import Compiler
from llama.kernels.threads import Threads
from tests.kernels.packs import FLOATS, OTHERS, QUANTISED, block_of, packer, random_tensor
from tests.kernels.running import embedded_rows


@pytest.mark.parametrize("kind", [*QUANTISED, *OTHERS, *FLOATS], ids=lambda k: getattr(k, "name", str(k)))
def test_every_row_reads_back_as_the_file_has_it(kind: int, compiler: Compiler, threads: Threads) -> None:
    columns = 3 * max(32, block_of(kind)[0])
    tensor = random_tensor(kind, 37, columns)
    found = embedded_rows(packer(compiler, threads, "llvm").pack(tensor), compiler, threads, signed=True)
    expected = tensor.floats()
    # scales and minima are kept as float16
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=np.abs(expected).max() * 2e-3)
