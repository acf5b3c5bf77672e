"""Made-up logits that are the same on every machine."""

import numpy as np
from numpy.typing import NDArray


def row(step: int, scale: float, n_vocab: int) -> NDArray[np.float32]:
    """Random logits of one step; for the flat ones (0.5) the first eight tokens stand out."""
    logits = (np.random.RandomState(step).standard_normal(n_vocab) * scale).astype(np.float32)
    if scale == 0.5:
        logits[:8] += 6
    return logits
