"""Random tensors of every GGUF type, and the machinery that packs them."""

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import quantize
from numpy.typing import NDArray

from llama.kernels.codecache import Compiler
from llama.kernels.dot import SETS
from llama.kernels.packing import Packer
from llama.kernels.tensor import Tensor
from llama.kernels.threads import Threads

T = GGMLQuantizationType
#: Byte offsets of float16 scales in a block of random bytes: they must be sane numbers.
HALVES = {
    T.Q2_K: (80, 82),
    T.Q3_K: (108,),
    T.Q4_K: (0, 2),
    T.Q5_K: (0, 2),
    T.Q6_K: (208,),
    T.IQ2_XXS: (0,),
    T.IQ2_XS: (0,),
    T.IQ2_S: (0,),
    T.IQ3_XXS: (0,),
    T.IQ3_S: (0,),
    T.IQ1_S: (0,),
    T.IQ4_NL: (0,),
    T.IQ4_XS: (0,),
    T.TQ1_0: (52,),
    T.TQ2_0: (64,),
    T.Q1_0: (0,),
    42: (0,),
}
QUANTISED = (T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1, T.Q8_0)
OTHERS = (*HALVES, T.IQ1_M, T.MXFP4, T.NVFP4)
FLOATS = (T.F32, T.F16, T.BF16)


def block_of(kind: int) -> tuple[int, int]:
    """(elements, bytes) of a block."""
    return (64, 18) if kind == 42 else GGML_QUANT_SIZES[T(kind)]


def random_tensor(kind: int, rows: int, columns: int, seed: int = 0) -> Tensor:
    """A matrix of a type with values of about 1."""
    rng = np.random.default_rng(seed)
    name = f"random {kind}"
    if kind in QUANTISED or kind in FLOATS:
        values = rng.standard_normal((rows, columns)).astype(np.float32)
        data = np.ascontiguousarray(quantize(values, T(kind))).view(np.uint8).reshape(rows, -1)
        return Tensor(name, T(kind), (rows, columns), data)
    elements, size = block_of(kind)
    blocks = rng.integers(0, 256, (rows, columns // elements, size), np.uint8)
    _sane_scales(kind, blocks, rng)
    return Tensor(name, T(kind) if kind != 42 else kind, (rows, columns), blocks.reshape(rows, -1))


def _sane_scales(kind: int, blocks: NDArray[np.uint8], rng: np.random.Generator) -> None:
    for offset in HALVES.get(kind, ()):
        scales = rng.uniform(0.001, 0.02, (*blocks.shape[:2], 1)).astype(np.float16)
        blocks[..., offset : offset + 2] = scales.view(np.uint8)
    if kind == T.MXFP4:
        blocks[..., 0] = rng.integers(118, 126, blocks.shape[:2])
    if kind == T.NVFP4:
        blocks[..., :4] = rng.integers(16, 64, (*blocks.shape[:2], 4))
    if kind == T.IQ1_M:
        words = blocks[..., 48:56].view(np.uint16)
        for i, nibble in enumerate((0x2, 0x6, 0x0, 0x2)):  # float16 0x2062, about 0.0086
            words[..., i] = (words[..., i] & 0x0FFF) | (nibble << 12)


def packer(compiler: Compiler, threads: Threads, kernel_set: str) -> Packer:
    """What packs for a kernel set."""
    return Packer(threads, compiler, signed=SETS[kernel_set].signed_codes)
