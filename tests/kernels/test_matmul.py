"""Products with packed matrices: right for every type, kernel set and odd shape; the same bits whatever the batch."""

from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from llama.kernels import context as places
from llama.kernels import detect, matmul
from llama.kernels.codecache import Compiler
from llama.kernels.layout import GROUP
from llama.kernels.memory import Memory
from llama.kernels.packing import Packed
from llama.kernels.threads import Threads
from tests.kernels.packs import FLOATS, OTHERS, QUANTISED, T, block_of, packer, random_tensor
from tests.kernels.running import run_steps

SETS = detect.runnable()


def room(x: NDArray[np.float32]) -> int:
    """Rows that buffers have for x: a multiple of 8, as in the executor."""
    return -(-len(x) // 8) * 8


def product(
    x: NDArray[np.float32], w: Packed, kernel_set: str, compiler: Compiler, threads: Threads
) -> NDArray[np.float32]:
    """x @ w.T by the kernels of a set."""
    context = np.zeros(places.SIZE, np.int64)
    context[places.N_ROWS] = len(x)
    groups, layout = -(-w.rows // GROUP), w.layout
    out = Memory(room(x) * groups * 64)
    steps = w.columns if layout.is_float else w.columns // 32
    rows = np.zeros((room(x), x.shape[1]), np.float32)
    rows[: len(x)] = x
    source, stride, before = rows.ctypes.data, rows.strides[0], []
    if not layout.is_float:
        stride = matmul.quantised_width(w.columns)
        codes = Memory(room(x) * stride)
        before = [
            (
                "quantise True",
                partial(matmul.build_quantise, True),
                [0, source, rows.strides[0], steps, codes.address, stride, 1],
            )
        ]
        source = codes.address
    scale_bytes = 0 if layout.is_float else layout.scale_bytes * steps
    args = [0, source, stride, w.codes, w.scales, groups, steps, out.address, groups * 64, 0, 0, 0, 1]
    linear = (
        f"linear {kernel_set} {layout.name}",
        partial(matmul.build_linear, kernel_set, layout),
        [*args, layout.code_bytes * steps, scale_bytes],
    )
    run_steps(threads, compiler, context, *before, linear)
    return out.bytes.view(np.float32).reshape(room(x), -1)[: len(x), : w.rows].copy()


def rounded(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """What is left of activations after quantising to 8 bits."""
    blocks = x.reshape(len(x), -1, 32)
    step = np.abs(blocks).max(-1, keepdims=True) / 127
    return (np.rint(blocks / step) * step).reshape(x.shape).astype(np.float32)


def activations(rows: int, columns: int) -> NDArray[np.float32]:
    return np.random.default_rng(rows).standard_normal((rows, columns)).astype(np.float32)


def check(kind: int, kernel_set: str, compiler: Compiler, threads: Threads, columns: int = 0) -> None:
    columns = columns or 3 * max(32, block_of(kind)[0])
    tensor = random_tensor(kind, 37, columns)
    w = packer(compiler, threads, kernel_set).pack(tensor)
    x = activations(11, columns)
    found = product(x, w, kernel_set, compiler, threads)
    expected = (x if w.layout.is_float else rounded(x)) @ tensor.floats().T
    np.testing.assert_allclose(found, expected, rtol=0, atol=np.abs(expected).max() * 3e-3)


@pytest.mark.parametrize("kind", [*QUANTISED, *OTHERS, *FLOATS], ids=lambda k: getattr(k, "name", str(k)))
def test_products_of_every_type_are_right(kind: int, compiler: Compiler, threads: Threads) -> None:
    check(kind, SETS[0], compiler, threads)


@pytest.mark.parametrize("kernel_set", SETS[1:])
@pytest.mark.parametrize("kind", [T.Q4_0, T.Q4_1, T.Q5_0, T.Q8_0, T.Q2_K, T.Q3_K, T.Q6_K], ids=lambda k: k.name)
def test_every_kernel_set_gives_right_products(
    kind: int, kernel_set: str, compiler: Compiler, threads: Threads
) -> None:
    check(kind, kernel_set, compiler, threads)


@pytest.mark.parametrize("kernel_set", SETS)
def test_8_bit_codes_do_not_saturate(kernel_set: str, compiler: Compiler, threads: Threads) -> None:
    tensor = random_tensor(T.Q8_0, 16, 64)
    tensor.data.reshape(16, 2, 34)[:, :, 2:] = 128  # all codes -128
    w = packer(compiler, threads, kernel_set).pack(tensor)
    x = np.ones((1, 64), np.float32)
    found = product(x, w, kernel_set, compiler, threads)
    np.testing.assert_allclose(found, x @ tensor.floats().T, rtol=1e-3)


@pytest.mark.parametrize("kind", [T.F32, T.F16, T.BF16, T.Q8_0], ids=lambda k: k.name)
def test_odd_numbers_of_columns(kind: int, compiler: Compiler, threads: Threads) -> None:
    check(kind, SETS[0], compiler, threads, 96 if kind == T.Q8_0 else 45)


@pytest.mark.parametrize("kernel_set", SETS)
@pytest.mark.parametrize("kind", [T.Q4_1, T.Q6_K, T.Q8_0, T.F16, T.F32], ids=lambda k: k.name)
def test_a_token_does_not_see_its_neighbours(kind: int, kernel_set: str, compiler: Compiler, threads: Threads) -> None:
    tensor = random_tensor(kind, 48, 512)
    w = packer(compiler, threads, kernel_set).pack(tensor)
    x = activations(19, 512)
    together = product(x, w, kernel_set, compiler, threads)
    for n in (1, 2, 3, 5, 6, 7, 9, 15):
        np.testing.assert_array_equal(product(x[-n:].copy(), w, kernel_set, compiler, threads), together[-n:])
