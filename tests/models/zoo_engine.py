"""What `zoo/check.py --engine tests.models.zoo_engine` calls: logits or embeddings of a model file.

LLAMA_TEST_KERNELS chooses the kernels: auto, compiled or numpy.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from llama.kernels.batch import Batch
from llama.modelfile import ModelFile
from llama.models import Model, load_model

KERNELS = os.environ.get("LLAMA_TEST_KERNELS", "auto")


def logits(path: str | Path, tokens: Sequence[int], kernels: str = KERNELS) -> NDArray[np.float32]:
    """(T, n_vocab) the logits after every token."""
    return run(path, tokens, kernels)


def embeddings(path: str | Path, tokens: Sequence[int], kernels: str = KERNELS) -> NDArray[np.float32]:
    """(T, n_embd) hidden states after the last norm, before pooling."""
    return run(path, tokens, kernels, hidden=True)


def run(path: str | Path, tokens: Sequence[int], kernels: str, hidden: bool = False) -> NDArray[np.float32]:
    """All rows of one sequence in one batch, with an F32 cache."""
    with ModelFile.open(Path(path)) as file:
        model = load_model(file, kernels=kernels, type_k="f32", type_v="f32")
        try:
            model.executor.allocate(-(-len(tokens) // model.block_size), 1)
            return model.forward(whole(model, tokens), hidden=hidden).copy()
        finally:
            model.close()


def whole(model: Model, tokens: Sequence[int]) -> Batch:
    """A batch of one sequence from its beginning, every row wanted."""
    n_blocks = -(-len(tokens) // model.block_size)
    return Batch(
        tokens=np.array(tokens, np.int32),
        starts=np.array([0, len(tokens)], np.int32),
        positions=np.zeros(1, np.int32),
        blocks=np.arange(n_blocks, dtype=np.int32)[None],
        states=np.zeros(1, np.int32),
        outputs=np.arange(len(tokens), dtype=np.int32),
    )
