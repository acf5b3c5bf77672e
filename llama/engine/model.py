"""What the engine needs of a language model, and what a finished load hands it."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from llama.kernels.batch import Batch
from llama.kernels.executor import Executor
from llama.sampling import SamplingVocab
from llama.tokenizer import Vocab


class LanguageModel(Protocol):
    """Turns batches into logits. `llama.models.Model` is one; the scripted models of the tests are others."""

    @property
    def executor(self) -> Executor:
        """Owner of the cache blocks and recurrent states."""

    @property
    def n_vocab(self) -> int: ...
    @property
    def n_embd(self) -> int: ...
    @property
    def n_ctx_train(self) -> int: ...
    @property
    def block_size(self) -> int:
        """Positions in a cache block."""

    @property
    def has_state(self) -> bool:
        """True when some layers are recurrent: what a sequence has read cannot be cut at any position."""

    @property
    def is_encoder(self) -> bool:
        """True when the model gives hidden states of whole inputs and cannot generate."""

    def forward(self, batch: Batch, *, hidden: bool = False) -> NDArray[np.float32]:
        """Logits (O, n_vocab) of the batch's output rows, or hidden states (O, n_embd); valid until the next call."""


@dataclass(frozen=True)
class Loaded:
    """A model that is ready to run, its vocabulary, and the vocabulary as samplers see it."""

    model: LanguageModel
    vocab: Vocab
    sampling: SamplingVocab
    fingerprint: str = ""  # tells this model from every other, so that saved slots fit
