"""Weights as floats, for executors that compute with floats only."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from llama.kernels.tensor import Tensor, dequantize

#: Dequantised weights kept in memory, in bytes; beyond that they are unpacked again at each use.
KEEP = 4 << 30
#: Bytes of floats unpacked at a time from a tensor that is not kept.
CHUNK = 64 << 20


class WeightStore:
    """Dequantises tensors, keeping the results while they fit: 4 bytes a parameter, up to `keep` bytes.

    A model of up to a billion parameters is unpacked once. A larger one runs too, in bounded memory and slower: the
    tensors that came late are unpacked in pieces at every use.
    """

    def __init__(self, keep: int = KEEP) -> None:
        self._room = keep
        self._kept: dict[int, tuple[Tensor, NDArray[np.float32]]] = {}

    def floats(self, tensor: Tensor) -> NDArray[np.float32]:
        """All values of a tensor; not to be modified."""
        kept = self._kept.get(id(tensor))
        if kept is not None:
            return kept[1]
        values = tensor.floats()
        self._keep(tensor, values)
        return values

    def chunks(self, tensor: Tensor) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """The matrix in pieces of whole rows: (first row, values). One piece when it is kept."""
        if id(tensor) in self._kept or 4 * int(np.prod(tensor.shape)) <= self._room:
            yield 0, self.floats(tensor)
            return
        step = max(1, CHUNK // (4 * int(np.prod(tensor.shape[1:]))))
        for start in range(0, tensor.shape[0], step):
            yield start, tensor.rows(start, min(start + step, tensor.shape[0])).floats()

    def rows(self, tensor: Tensor, index: NDArray[np.int64]) -> NDArray[np.float32]:
        """Some rows of a matrix, unpacked alone."""
        return dequantize(np.ascontiguousarray(tensor.data[index]), tensor.type).reshape(len(index), *tensor.shape[1:])

    def matrix(self, tensor: Tensor, index: int) -> NDArray[np.float32]:
        """One matrix of a three-dimensional tensor: an expert."""
        kept = self._kept.get(id(tensor))
        if kept is not None or 4 * int(np.prod(tensor.shape)) <= self._room:
            return np.asarray(self.floats(tensor)[index])
        return np.asarray(self.rows(tensor, np.array([index]))[0])

    def _keep(self, tensor: Tensor, values: NDArray[np.float32]) -> None:
        if values.nbytes <= self._room:
            self._room -= values.nbytes
            self._kept[id(tensor)] = (tensor, values)
