"""Masks that are kept for the next text that comes to the same place."""

import threading
from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Place = tuple[int, int]
"""A state: the number of its table, and its own."""


class MaskCache:
    """The most recently used masks, within `limit` bytes. Safe for several threads."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._masks: OrderedDict[Place, Mask] = OrderedDict()
        self._nbytes = 0
        self._lock = threading.Lock()

    def get(self, place: Place) -> Mask | None:
        """The mask of `place`, if it is kept."""
        with self._lock:
            mask = self._masks.get(place)
            if mask is not None:
                self._masks.move_to_end(place)
            return mask

    def put(self, place: Place, mask: Mask) -> None:
        """Keep `mask`, and drop others that are over the limit."""
        with self._lock:
            self._nbytes += mask.nbytes
            self._masks[place] = mask
            while self._nbytes > self._limit and len(self._masks) > 1:
                self._nbytes -= self._masks.popitem(last=False)[1].nbytes
