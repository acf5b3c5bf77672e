"""Masks that are kept for the next text that comes to the same place."""

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Place = tuple[int, int]
"""A state: the number of its table, and its own."""


@dataclass(frozen=True, slots=True)
class MaskFound:
    """A mask, and the nodes of the vocabulary's tree that it leaves to the whole stack to decide."""

    mask: Mask
    undecided: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))

    @property
    def nbytes(self) -> int:
        return self.mask.nbytes + self.undecided.nbytes


class MaskCache:
    """The most recently used masks, within `limit` bytes. Safe for several threads."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._masks: OrderedDict[Place, MaskFound] = OrderedDict()
        self._nbytes = 0
        self._lock = threading.Lock()

    def get(self, place: Place) -> MaskFound | None:
        """The mask of `place`, if it is kept."""
        with self._lock:
            mask = self._masks.get(place)
            if mask is not None:
                self._masks.move_to_end(place)
            return mask

    def put(self, place: Place, mask: MaskFound) -> None:
        """Keep `mask`, and drop others that are over the limit."""
        with self._lock:
            self._nbytes += mask.nbytes
            self._masks[place] = mask
            while self._nbytes > self._limit and len(self._masks) > 1:
                self._nbytes -= self._masks.popitem(last=False)[1].nbytes
