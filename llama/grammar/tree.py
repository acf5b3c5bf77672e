"""Tokens as a tree of bytes, so that those with the same beginning are looked at once."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from llama.grammar.compiled import compiled

Ints = NDArray[np.int32]


class TrieNodes(NamedTuple):
    """The tree in depth-first order; the root is left out.     N nodes, T tokens with text"""

    byte: NDArray[np.uint8]  # (N,)
    depth: Ints  # (N,) from 1
    skip: Ints  # (N,) where to go on when this subtree is of no use
    first_token: Ints  # (N + 1,)
    token: Ints  # (T,)


def build_tree(pieces: Sequence[bytes], eog: frozenset[int]) -> TrieNodes:
    """The tree of all tokens that have a text and do not end one."""
    order = sorted((token for token, piece in enumerate(pieces) if piece and token not in eog), key=pieces.__getitem__)
    sizes = np.array([len(pieces[token]) for token in order], np.int64)
    text = np.frombuffer(b"".join(pieces[token] for token in order) or b"\0", np.uint8)
    ends = np.cumsum(sizes)
    capacity = int(sizes.sum())
    nodes = TrieNodes(
        np.empty(capacity, np.uint8),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int32),
        np.empty(capacity + 1, np.int32),
        np.array(order, np.int32),
    )
    n = _fill_tree(text, ends - sizes, ends, nodes, np.empty(int(sizes.max(initial=0)) + 2, np.int32))
    return TrieNodes(
        nodes.byte[:n].copy(),
        nodes.depth[:n].copy(),
        nodes.skip[:n].copy(),
        nodes.first_token[: n + 1].copy(),
        nodes.token,
    )


@compiled
def _fill_tree(
    text: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64], nodes: TrieNodes, open_at: Ints
) -> int:
    """Write the tree of sorted tokens; `open_at[d]` is the open node of depth d. Returns the number of nodes."""
    n = 0
    height = 0
    for i in range(starts.shape[0]):
        size = ends[i] - starts[i]
        common = 0
        if i > 0:
            limit = min(size, ends[i - 1] - starts[i - 1])
            while common < limit and text[starts[i] + common] == text[starts[i - 1] + common]:
                common += 1
        while height > common:
            nodes.skip[open_at[height]] = n
            height -= 1
        while height < size:
            nodes.byte[n] = text[starts[i] + height]
            height += 1
            nodes.depth[n] = height
            nodes.first_token[n] = i
            open_at[height] = n
            n += 1
    while height > 0:
        nodes.skip[open_at[height]] = n
        height -= 1
    nodes.first_token[n] = starts.shape[0]
    return n
