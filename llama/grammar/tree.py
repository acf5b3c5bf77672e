"""Tokens as a tree of bytes, so that those with the same beginning are looked at once."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from llama.grammar.compiled import compiled

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


class TreeNodes(NamedTuple):
    """The tree in depth-first order; the root is left out.     N nodes"""

    byte: NDArray[np.uint8]  # (N,)
    depth: Ints  # (N,) from 1
    skip: Ints  # (N,) where to go on when this subtree is of no use


def build_tree(pieces: Sequence[bytes], eog: frozenset[int]) -> tuple[TreeNodes, Ints]:
    """The tree, and the node that each token ends at, (n_vocab,): N for those without text and those that end one."""
    order = sorted((token for token, piece in enumerate(pieces) if piece and token not in eog), key=pieces.__getitem__)
    sizes = np.array([len(pieces[token]) for token in order], np.int64)
    text = np.frombuffer(b"".join(pieces[token] for token in order) or b"\0", np.uint8)
    ends = np.cumsum(sizes)
    full = int(sizes.sum())
    nodes = TreeNodes(np.empty(full, np.uint8), np.empty(full, np.int32), np.empty(full, np.int32))
    last = np.empty(len(order), np.int32)
    n = _fill_tree(text, ends - sizes, ends, nodes, last, np.empty(int(sizes.max(initial=0)) + 2, np.int32))
    node_of = np.full(len(pieces), n, np.int32)
    node_of[order] = last
    return TreeNodes(nodes.byte[:n].copy(), nodes.depth[:n].copy(), nodes.skip[:n].copy()), node_of


@compiled
def _fill_tree(text: NDArray[np.uint8], starts: Longs, ends: Longs, nodes: TreeNodes, last: Ints, open_at: Ints) -> int:
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
            open_at[height] = n
            n += 1
        last[i] = open_at[height]
    while height > 0:
        nodes.skip[open_at[height]] = n
        height -= 1
    return n
