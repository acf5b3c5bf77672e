"""Tokens as a tree of bytes, so that those with the same beginning are looked at once."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from llama.grammar.groups import groups_below
from llama.jit import borrowing, compiled

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


GROUPS, SKIP, FIRST_TOKEN, PLACE = range(4)  # columns of TreeNodes.node


class TreeNodes(NamedTuple):
    """The tree in depth-first order; the root is left out.     N nodes

    A row of `node` is looked at as a whole and lies in one line of the processor's cache: groups of characters at the
    node and below it (see `groups`); where to go on when this subtree is of no use; the first of the tokens that end at
    the node, the next row has the first that do not; depth << 8 | byte, depth from 1.
    """

    node: Longs  # (N + 1, 4)
    parent: Ints  # (N,) -1 under the root


def build_tree(pieces: Sequence[bytes], eog: frozenset[int]) -> tuple[TreeNodes, Ints]:
    """The tree, and its tokens in order: all that have a text and do not end one."""
    order = sorted((token for token, piece in enumerate(pieces) if piece and token not in eog), key=pieces.__getitem__)
    sizes = np.array([len(pieces[token]) for token in order], np.int64)
    text = np.frombuffer(b"".join(pieces[token] for token in order) or b"\0", np.uint8)
    ends = np.cumsum(sizes)
    full = int(sizes.sum())
    nodes = TreeNodes(np.zeros((full + 1, 4), np.int64), np.empty(full, np.int32))
    n = _fill_tree(text, ends - sizes, ends, nodes, np.empty(int(sizes.max(initial=0)) + 2, np.int32))
    cut = TreeNodes(nodes.node[: n + 1].copy(), nodes.parent[:n].copy())
    cut.node[:n, GROUPS] = groups_below(cut.node[:n, PLACE] & 0xFF, cut.parent)
    return cut, np.array(order, np.int32)


@borrowing
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
            nodes.node[open_at[height], SKIP] = n
            height -= 1
        while height < size:
            byte = int(text[starts[i] + height])
            height += 1
            nodes.node[n, PLACE] = (height << 8) | byte
            nodes.node[n, FIRST_TOKEN] = i
            nodes.parent[n] = open_at[height - 1] if height > 1 else -1
            open_at[height] = n
            n += 1
    while height > 0:
        nodes.node[open_at[height], SKIP] = n
        height -= 1
    nodes.node[n, FIRST_TOKEN] = starts.shape[0]
    return n


@compiled
def with_ancestors(nodes: TreeNodes, roots: Ints) -> Ints:
    """The nodes of the subtrees at `roots` (in order), and all nodes above them, in order."""
    chosen = np.zeros(nodes.parent.shape[0], np.bool_)
    end = 0
    for i in range(roots.shape[0]):
        root = int(roots[i])
        skip = int(nodes.node[root, SKIP])
        for node in range(max(end, root), skip):
            chosen[node] = True
        end = max(end, skip)
        above = int(nodes.parent[root])
        while above >= 0 and not chosen[above]:
            chosen[above] = True
            above = int(nodes.parent[above])
    found = np.empty(int(chosen.sum()), np.int32)
    n = 0
    for node in range(chosen.shape[0]):
        if chosen[node]:
            found[n] = node
            n += 1
    return found


@borrowing
def allow_tokens(nodes: TreeNodes, token: Ints, alive: Ints, mask: NDArray[np.bool_]) -> None:
    """Set `mask` for the tokens that end at the nodes `alive`; `token`: all tokens in the order of the tree."""
    for i in range(alive.shape[0]):
        for at in range(nodes.node[alive[i], FIRST_TOKEN], nodes.node[alive[i] + 1, FIRST_TOKEN]):
            mask[token[at]] = True


@borrowing
def allow_runs(token: Ints, runs: Ints, mask: NDArray[np.bool_]) -> None:
    """Set `mask` for runs (from, to, from, to ...) of `token`, all tokens in the order of the tree."""
    for i in range(0, runs.shape[0], 2):
        for at in range(runs[i], runs[i + 1]):
            mask[token[at]] = True
