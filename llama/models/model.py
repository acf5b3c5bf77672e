"""A loaded model: its numbers, and an executor that runs its graph."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from llama.errors import ModelFileError
from llama.kernels import open_executor
from llama.kernels.batch import Batch
from llama.kernels.executor import Executor
from llama.kernels.graph import Graph
from llama.modelfile import ModelFile
from llama.models.adapted import AdaptedGraph
from llama.models.adapter import Adapter, read_adapter
from llama.models.hparams import HParams, read_hparams
from llama.models.pooling import PoolingHead, read_head
from llama.models.registry import find_architecture
from llama.models.weights import Weights

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Model:
    """Runs batches of tokens. The executor owns the cache; allocate it before the first batch."""

    hparams: HParams
    executor: Executor
    has_state: bool  # keeps recurrent states beside keys and values
    is_encoder: bool  # gives hidden states only, no logits
    head: PoolingHead  # what comes after pooling
    adapters: tuple[Adapter, ...] = ()  # what `Batch.scales` has a column for

    def forward(self, batch: Batch, *, hidden: bool = False) -> NDArray[np.float32]:
        """Logits (O, n_vocab) of the wanted rows, or their hidden states (O, n_embd) after the last norm."""
        return self.executor.run(batch, hidden=hidden or self.is_encoder)

    @property
    def n_vocab(self) -> int:
        """Tokens in the vocabulary."""
        return self.hparams.n_vocab

    @property
    def n_embd(self) -> int:
        """Columns of a hidden state."""
        return self.hparams.n_embd

    @property
    def n_ctx_train(self) -> int:
        """Positions the model was trained for."""
        return self.hparams.n_ctx_train

    @property
    def block_size(self) -> int:
        """Positions in a cache block."""
        return self.executor.block_size

    def close(self) -> None:
        """Let go of the executor's threads and memory."""
        self.executor.close()


def load_model(
    file: ModelFile,
    *,
    n_ctx: int = 0,
    kernels: str = "auto",
    n_threads: int = 0,
    type_k: str = "f16",
    type_v: str = "f16",
    overrides: Mapping[str, object] | None = None,
    code_folder: Path | None = None,
    adapters: Sequence[ModelFile] = (),
) -> Model:
    """Build the graph of a model file and open an executor for it.

    n_ctx: positions a sequence may have, 0 for as many as in training. overrides: metadata that replaces the file's.
    code_folder: where compiled kernels are kept between runs. adapters: LoRA files. Raises UnknownArchitecture before
    any tensor is read, and ModelFileError naming the tensor or key that is wrong.
    """
    build = find_architecture(file.architecture)
    metadata = {**file.metadata, **(overrides or {})}
    weights = Weights.of(file.tensors)
    h = read_hparams(file.architecture, metadata, _n_vocab(metadata, weights), n_ctx)
    found = tuple(read_adapter(adapter, file.architecture, weights.tensors) for adapter in adapters)
    graph = AdaptedGraph(found) if found else Graph()
    try:
        build(graph, h, weights)
    except (ValueError, ArithmeticError, LookupError) as problem:  # numbers that no model has, such as no heads at all
        raise ModelFileError(f"{file.path.name}: its numbers and tensors do not fit together: {problem}") from problem
    if isinstance(graph, AdaptedGraph):
        graph.check()
    unused = weights.unused()
    if unused:
        _log.info("%d tensors of %s are not used, %s for one", len(unused), file.path.name, unused[0])
    executor = open_executor(
        graph,
        kernels=kernels,
        n_threads=n_threads,
        type_k=type_k,
        type_v=type_v,
        n_ctx=h.n_ctx,
        code_folder=code_folder,
    )
    return Model(h, executor, bool(graph.state_sizes), graph.logits is None, read_head(h, weights), found)


def _n_vocab(metadata: Mapping[str, object], weights: Weights) -> int:
    """Rows of the embeddings; the list of tokens must be as long."""
    rows = weights.need("token_embd.weight", None, None).shape[0]
    tokens = metadata.get("tokenizer.ggml.tokens")
    if isinstance(tokens, list) and len(tokens) != rows:
        raise ModelFileError(f"tensor token_embd.weight has {rows} rows, the vocabulary has {len(tokens)} tokens")
    return rows
