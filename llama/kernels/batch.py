"""What one step of the model works on: tokens of several sequences, each with its place in the cache."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Batch:
    """T tokens of S sequences. The tokens of one sequence are adjacent and their positions consecutive.

    tokens      (T,) int32   token ids
    starts      (S + 1,) int32   sequence s owns rows starts[s] .. starts[s + 1]
    positions   (S,) int32   position of the first of those rows; earlier positions are in the cache already
    blocks      (S, B) int32   cache block of position p is blocks[s, p // block_size]; unused entries are -1
    states      (S,) int32   state slot of the sequence, for recurrent layers; reset by the executor at position 0
    outputs     (O,) int32   rows whose result is wanted, ascending
    scales      (S, A) float32   how strong each adapter is for the sequence; None: no adapter is used
    """

    tokens: NDArray[np.int32]
    starts: NDArray[np.int32]
    positions: NDArray[np.int32]
    blocks: NDArray[np.int32]
    states: NDArray[np.int32]
    outputs: NDArray[np.int32]
    scales: NDArray[np.float32] | None = None
