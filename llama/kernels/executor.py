"""What the numpy and the compiled executor both are: something that runs a graph over batches."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from llama.kernels.batch import Batch


class Executor(Protocol):
    """Runs one graph. Owns the packed weights, the cache blocks and the recurrent states; one caller at a time."""

    name: str  # as shown in the log and in /props: "numpy", "avx512-vnni", "avx2-vnni", "avx2", "neon-dotprod", "llvm"
    block_size: int  # positions in a cache block
    block_bytes: int  # bytes one cache block takes, all layers together

    def allocate(self, n_blocks: int, n_states: int) -> None:
        """Make room for so many cache blocks and state slots, dropping what was there."""

    def run(self, batch: Batch, *, hidden: bool = False) -> NDArray[np.float32]:
        """Evaluate `batch`; return the logits (O, n_vocab) of its output rows, or their hidden states (O, n_embd).

        The array belongs to the executor and is overwritten by the next call.
        """

    def copy_block(self, source: int, target: int) -> None:
        """Copy all layers of a cache block."""

    def copy_state(self, source: int, target: int) -> None:
        """Copy all layers of a state slot."""

    def read_block(self, block: int) -> bytes:
        """The content of a cache block, for saving to disk."""

    def write_block(self, block: int, content: bytes) -> None:
        """Put back what `read_block` gave."""

    def read_state(self, state: int) -> bytes:
        """The content of a state slot, for saving to disk."""

    def write_state(self, state: int, content: bytes) -> None:
        """Put back what `read_state` gave."""

    def close(self) -> None:
        """Stop the threads and let go of the memory. Safe to call twice."""
