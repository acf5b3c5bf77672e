"""Sliding windows: which layers see only the last positions, and how many."""

from llama.models.hparams import HParams


def windowed(h: HParams, pattern: int, dense_first: bool = False) -> tuple[bool, ...]:
    """Whether each layer has a window: as the metadata's pattern says, else by `pattern`.

    A number n makes every n-th layer a full one: the last of each n, or the first (dense_first). 1: all are full,
    0: none is. The metadata may hold the number, or an array with one entry a layer.
    """
    stated = h.keys.array("attention.sliding_window_pattern")
    if stated is not None:
        return tuple(bool(v) for v in h.keys.per_layer("attention.sliding_window_pattern", h.n_layer))
    n = h.keys.integer("attention.sliding_window_pattern", pattern)
    if n == 0:
        return (True,) * h.n_layer
    full = 0 if dense_first else n - 1
    return tuple(il % n != full for il in range(h.n_layer))


def windows(h: HParams, pattern: int, *, default: int = 0, dense_first: bool = False) -> tuple[int, ...]:
    """The window of each layer, 0 for a full one. `default`: the window where the metadata names none."""
    size = h.keys.integer("attention.sliding_window", default)
    return tuple(size if on else 0 for on in windowed(h, pattern, dense_first))
