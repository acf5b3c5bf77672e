"""Fills the arrays of a `Batch`, over and over in the same memory."""

import numpy as np
from numpy.typing import NDArray

from llama.engine.cache import Chain
from llama.kernels.batch import Batch


class Assembly:
    """Room for `n_tokens` tokens of `n_sequences` sequences: `add` some, take the `batch`, start anew by `clear`."""

    def __init__(self, n_tokens: int, n_sequences: int, max_blocks: int) -> None:
        self._tokens = np.empty(n_tokens, np.int32)
        self._starts = np.zeros(n_sequences + 1, np.int32)
        self._positions = np.empty(n_sequences, np.int32)
        self._states = np.empty(n_sequences, np.int32)
        self._outputs = np.empty(n_tokens, np.int32)
        self._blocks = np.empty(n_sequences * max_blocks, np.int32)
        self._chains: list[Chain] = []
        self.clear()

    def clear(self) -> None:
        self._chains.clear()
        self.n_tokens = self.n_outputs = 0

    def add(self, chain: Chain, tokens: list[int], n_outputs: int) -> int:
        """Append `tokens`, which follow what `chain` holds, the last `n_outputs` with a result; return its first."""
        s, end, first_output = len(self._chains), self.n_tokens + len(tokens), self.n_outputs
        self._tokens[self.n_tokens : end] = tokens
        self._positions[s], self._states[s], self._starts[s + 1] = chain.length, chain.state, end
        self.n_outputs += n_outputs
        self._outputs[first_output : self.n_outputs] = range(end - n_outputs, end)
        self._chains.append(chain)
        self.n_tokens = end
        return first_output

    def batch(self) -> Batch:
        """Views of the memory; good until the next `clear`."""
        n = len(self._chains)
        return Batch(
            self._tokens[: self.n_tokens],
            self._starts[: n + 1],
            self._positions[:n],
            self._block_table(n),
            self._states[:n],
            self._outputs[: self.n_outputs],
            self._scales(),
        )

    def _scales(self) -> NDArray[np.float32] | None:
        """How strong each adapter is for each chain, None if no chain uses any."""
        width = max((len(chain.lora) for chain in self._chains), default=0)
        if not width:
            return None
        return np.array([chain.lora or (0.0,) * width for chain in self._chains], np.float32)

    def _block_table(self, n: int) -> NDArray[np.int32]:
        width = max((len(chain.blocks) for chain in self._chains), default=0)
        table = self._blocks[: n * width].reshape(n, width)
        for s, chain in enumerate(self._chains):
            table[s] = chain.row[:width]
        return table
