"""Tokens as a tree of bytes, so that those with the same beginning are looked at once."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from llama.grammar.groups import groups_below
from llama.jit import compiled

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


class TreeNodes(NamedTuple):
    """The tree in depth-first order; the root is left out.     N nodes"""

    byte: NDArray[np.uint8]  # (N,)
    depth: Ints  # (N,) from 1
    skip: Ints  # (N,) where to go on when this subtree is of no use
    parent: Ints  # (N,) -1 under the root
    first_token: Ints  # (N + 1,) tokens that end at node i: first_token[i] .. first_token[i + 1]
    groups: Longs  # (N,) groups of characters at the node and below it, see `groups`


def build_tree(pieces: Sequence[bytes], eog: frozenset[int]) -> tuple[TreeNodes, Ints]:
    """The tree, and its tokens in order: all that have a text and do not end one."""
    order = sorted((token for token, piece in enumerate(pieces) if piece and token not in eog), key=pieces.__getitem__)
    sizes = np.array([len(pieces[token]) for token in order], np.int64)
    text = np.frombuffer(b"".join(pieces[token] for token in order) or b"\0", np.uint8)
    ends = np.cumsum(sizes)
    full = int(sizes.sum())
    nodes = TreeNodes(
        np.empty(full, np.uint8),
        np.empty(full, np.int32),
        np.empty(full, np.int32),
        np.empty(full, np.int32),
        np.empty(full + 1, np.int32),
        np.zeros(full, np.int64),
    )
    n = _fill_tree(text, ends - sizes, ends, nodes, np.empty(int(sizes.max(initial=0)) + 2, np.int32))
    cut = TreeNodes(
        nodes.byte[:n].copy(),
        nodes.depth[:n].copy(),
        nodes.skip[:n].copy(),
        nodes.parent[:n].copy(),
        nodes.first_token[: n + 1].copy(),
        np.zeros(n, np.int64),
    )
    groups_below(cut.byte, cut.parent, cut.groups, np.zeros(n, np.int8))
    return cut, np.array(order, np.int32)


@compiled
def _fill_tree(text: NDArray[np.uint8], starts: Longs, ends: Longs, nodes: TreeNodes, open_at: Ints) -> int:
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
            nodes.parent[n] = open_at[height - 1] if height > 1 else -1
            open_at[height] = n
            n += 1
    while height > 0:
        nodes.skip[open_at[height]] = n
        height -= 1
    nodes.first_token[n] = starts.shape[0]
    return n


@compiled
def with_ancestors(nodes: TreeNodes, roots: Ints) -> Ints:
    """The nodes of the subtrees at `roots` (in order), and all nodes above them, in order."""
    chosen = np.zeros(nodes.byte.shape[0], np.bool_)
    end = 0
    for i in range(roots.shape[0]):
        for node in range(max(end, roots[i]), nodes.skip[roots[i]]):
            chosen[node] = True
        end = max(end, nodes.skip[roots[i]])
        above = nodes.parent[roots[i]]
        while above >= 0 and not chosen[above]:
            chosen[above] = True
            above = nodes.parent[above]
    return np.flatnonzero(chosen).astype(np.int32)


@compiled
def allow_tokens(nodes: TreeNodes, token: Ints, alive: Ints, mask: NDArray[np.bool_]) -> None:
    """Set `mask` for the tokens that end at the nodes `alive`; `token`: all tokens in the order of the tree."""
    for i in range(alive.shape[0]):
        for at in range(nodes.first_token[alive[i]], nodes.first_token[alive[i] + 1]):
            mask[token[at]] = True


@compiled
def allow_runs(token: Ints, runs: Ints, mask: NDArray[np.bool_]) -> None:
    """Set `mask` for runs (from, to, from, to ...) of `token`, all tokens in the order of the tree."""
    for i in range(0, runs.shape[0], 2):
        for at in range(runs[i], runs[i + 1]):
            mask[token[at]] = True
