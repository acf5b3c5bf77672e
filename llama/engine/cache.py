"""The paged cache: which block holds what, who uses it, and how a known beginning of a prompt is found again.

A block holds the keys and values of `size` consecutive positions. Blocks form a tree: a block is known by its parent
and by the tokens in it, and two sequences share a block only if every token from the first on is the same. Tokens are
compared themselves; the look-up by (parent, first token) only narrows the search. An identity is never given out twice,
so a block whose parent was evicted can not be found by mistake. Adapters change what a model keeps of a text: each
setting of them has a tree of its own.

Unused blocks keep their content until somebody needs the room: least recently used first, the end of a text before its
beginning.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol

import numpy as np

#: How strong each adapter is. All zero is the same as (): no adapter.
Lora = tuple[float, ...]
#: The parent of a text's first block when no adapter is used; else that parent is the adapters' setting.
ROOT: Lora = ()


class BlockCopier(Protocol):
    """The part of an executor that the pool needs."""

    def copy_block(self, source: int, target: int) -> None: ...


class Chain:
    """The blocks of one sequence; the first `length` positions of them are filled. `state` is its recurrent state.

    `lora`: the adapters that it is read with.
    """

    __slots__ = ("blocks", "length", "lora", "row", "state")

    def __init__(self, max_blocks: int, state: int = 0, lora: Lora = ROOT) -> None:
        self.blocks: list[int] = []
        self.row = np.full(max_blocks, -1, np.int32)  # the same as `blocks`, ready to be copied into a batch
        self.length = 0
        self.state, self.lora = state, lora

    def append(self, block: int) -> None:
        self.row[len(self.blocks)] = block
        self.blocks.append(block)

    def replace(self, index: int, block: int) -> None:
        self.row[index] = self.blocks[index] = block

    def cut(self, n_blocks: int) -> list[int]:
        """Keep the first `n_blocks` blocks; return the others."""
        rest = self.blocks[n_blocks:]
        self.row[n_blocks : len(self.blocks)] = -1
        del self.blocks[n_blocks:]
        return rest


class BlockPool:
    """All cache blocks of a model. `max_blocks` is the most that one chain may have."""

    def __init__(self, copier: BlockCopier, n_blocks: int, size: int, max_blocks: int) -> None:
        self.size = size
        self.n_blocks = n_blocks
        self._max_blocks = max_blocks
        self._copier = copier
        self._refs = [0] * n_blocks
        self._tokens: list[list[int]] = [[] for _ in range(n_blocks)]
        self._identity = [0] * n_blocks
        self._parent: list[int | Lora] = [ROOT] * n_blocks
        self._free = list(range(n_blocks - 1, -1, -1))
        self._idle: OrderedDict[int, None] = OrderedDict()  # unused blocks that remember something, oldest first
        self._children: dict[tuple[int | Lora, int], list[int]] = {}  # (identity of the parent, first token) -> blocks
        self._identities = 0

    @property
    def available(self) -> int:
        """Blocks that nobody uses now."""
        return len(self._free) + len(self._idle)

    def blocks_for(self, n_tokens: int) -> int:
        return -(-n_tokens // self.size)

    def chain(self, state: int = 0, lora: Lora = ROOT) -> Chain:
        """A new, empty chain."""
        return Chain(self._max_blocks, state, root(lora))

    def needed(self, tokens: Sequence[int], limit: int, lora: Lora = ROOT) -> int:
        """Available blocks it would take to hold `tokens` and one more, sharing at most the first `limit`."""
        parent: int | Lora = root(lora)
        shared = idle = 0
        while (shared + 1) * self.size <= limit:
            block, common = self._longest(parent, tokens, shared * self.size, limit)
            if common < self.size:
                break
            parent, shared, idle = self._identity[block], shared + 1, idle + (self._refs[block] == 0)
        return self.blocks_for(len(tokens) + 1) - shared + idle

    def open(self, tokens: Sequence[int], limit: int, lora: Lora = ROOT) -> Chain:
        """A chain that already holds the longest known beginning of `tokens`, at most `limit` of them."""
        chain = self.chain(lora=lora)
        self.adopt(chain, tokens, limit)
        parent = self._last_identity(chain)
        if chain.length < limit and chain.length % self.size == 0:
            block, common = self._longest(parent, tokens, chain.length, limit)
            if common:
                self._take_part(chain, block, common)
        return chain

    def adopt(self, chain: Chain, tokens: Sequence[int], limit: int) -> int:
        """Let `chain`, which ends on a block's end, go on with whole blocks that are known; return how many tokens."""
        before = chain.length
        if before % self.size or len(chain.blocks) * self.size > before:
            return 0
        while chain.length + self.size <= limit:
            block, common = self._longest(self._last_identity(chain), tokens, chain.length, limit)
            if common < self.size:
                break
            self._hold(block)
            chain.append(block)
            chain.length += self.size
        return chain.length - before

    def fork(self, chain: Chain, state: int = 0) -> Chain:
        """Another chain over the same blocks; whoever writes first gets a copy of the block."""
        other = self.chain(state, chain.lora)
        for block in chain.blocks[: self.blocks_for(chain.length)]:
            self._hold(block)
            other.append(block)
        other.length = chain.length
        return other

    def extend(self, chain: Chain, n: int) -> bool:
        """Make the next `n` positions of `chain` writable. False, and nothing changed, when blocks are short."""
        index, offset = divmod(chain.length, self.size)
        block = chain.blocks[index] if index < len(chain.blocks) else -1
        copy = block >= 0 and (self._refs[block] > 1 or len(self._tokens[block]) > offset)
        missing = self.blocks_for(chain.length + n) - len(chain.blocks)
        if missing + copy > self.available:
            return False
        if copy:
            self._copy_on_write(chain, index, offset)
        for _ in range(missing):
            chain.append(self._allocate(self._last_identity(chain)))
        return True

    def record(self, chain: Chain, tokens: Sequence[int]) -> None:
        """Note that `tokens` are now in the cache, after those that were there."""
        at, n = 0, len(tokens)
        while at < n:
            index, offset = divmod(chain.length, self.size)
            block = chain.blocks[index]
            part = tokens[at : at + self.size - offset]
            self._tokens[block].extend(part)
            if offset == 0:
                self._children.setdefault((self._parent[block], part[0]), []).append(block)
            chain.length += len(part)
            at += len(part)
            if offset + len(part) == self.size:
                self._merge(chain, index)

    def truncate(self, chain: Chain, length: int) -> None:
        """Let go of everything after the first `length` positions."""
        for block in reversed(chain.cut(self.blocks_for(length))):
            self._let_go(block)
        chain.length = min(chain.length, length)

    def release(self, chain: Chain) -> None:
        """Let go of all of `chain`; its content stays known while there is room."""
        if chain.length % self.size and len(chain.blocks) == self.blocks_for(chain.length):
            self._drop_duplicate(chain.blocks[-1])
        self.truncate(chain, 0)

    def forget(self, tokens: Sequence[int], lora: Lora = ROOT) -> None:
        """Remove the unused blocks that hold a beginning of `tokens`."""
        parent: int | Lora = root(lora)
        at, found = 0, []
        while at < len(tokens):
            block, common = self._longest(parent, tokens, at, len(tokens))
            if not common:
                break
            found.append(block)
            parent, at = self._identity[block], at + self.size
            if common < self.size:
                break
        for block in reversed(found):
            if not self._refs[block]:
                del self._idle[block]
                self._clear(block)
                self._free.append(block)

    def check(self) -> None:
        """Assert that the books balance; for tests."""
        used = sum(1 for refs in self._refs if refs)
        assert used + self.available == self.n_blocks
        assert len(set(self._free)) == len(self._free)
        assert not set(self._free) & set(self._idle)
        assert all(not self._refs[b] for b in (*self._free, *self._idle))
        indexed = [block for blocks in self._children.values() for block in blocks]
        assert sorted(indexed) == [b for b in range(self.n_blocks) if self._tokens[b]]

    def _last_identity(self, chain: Chain) -> int | Lora:
        return self._identity[chain.blocks[-1]] if chain.blocks else chain.lora

    def _longest(self, parent: int | Lora, tokens: Sequence[int], at: int, limit: int) -> tuple[int, int]:
        """The child of `parent` that shares most with tokens[at:limit], and how many tokens it shares."""
        best, most = -1, 0
        candidates = self._children.get((parent, tokens[at]))
        if candidates:
            wanted = list(tokens[at : min(at + self.size, limit)])
            for block in candidates:
                common = shared_length(self._tokens[block], wanted)
                if common > most:
                    best, most = block, common
        return best, most

    def _take_part(self, chain: Chain, block: int, common: int) -> None:
        """Give `chain` the first `common` tokens of `block`: itself if these are all and it is unused, else a copy."""
        if not self._refs[block] and len(self._tokens[block]) == common:
            self._hold(block)
            chain.append(block)
            chain.length += common
            return
        self._hold(block)  # or making room might evict it
        if self.available:
            copy = self._allocate(self._last_identity(chain))
            self._copier.copy_block(block, copy)
            chain.append(copy)
            self.record(chain, self._tokens[block][:common])
        self._let_go(block)

    def _copy_on_write(self, chain: Chain, index: int, offset: int) -> None:
        source = chain.blocks[index]
        target = self._allocate(self._parent[source])
        if offset:
            self._copier.copy_block(source, target)
            self._tokens[target] = self._tokens[source][:offset]
            self._children.setdefault((self._parent[target], self._tokens[target][0]), []).append(target)
        chain.replace(index, target)
        self._let_go(source)

    def _merge(self, chain: Chain, index: int) -> None:
        """If the block just filled exists already, use the older one: the same request again costs no room."""
        block = chain.blocks[index]
        mine = self._tokens[block]
        for twin in self._children[self._parent[block], mine[0]]:
            if twin != block and self._tokens[twin] == mine:
                self._hold(twin)
                chain.replace(index, twin)
                self._discard(block)
                if index + 1 < len(chain.blocks):
                    self._parent[chain.blocks[index + 1]] = self._identity[twin]
                return

    def _drop_duplicate(self, block: int) -> None:
        """Before the last block of a chain is let go: keep only the longer of two where one begins like the other."""
        mine = self._tokens[block]
        if self._refs[block] > 1 or not mine:
            return
        for twin in list(self._children[self._parent[block], mine[0]]):
            theirs = self._tokens[twin]
            if twin != block and theirs[: len(mine)] == mine:
                self._clear(block)
                return
            if twin != block and not self._refs[twin] and mine[: len(theirs)] == theirs:
                del self._idle[twin]
                self._clear(twin)
                self._free.append(twin)

    def _allocate(self, parent: int | Lora) -> int:
        if self._free:
            block = self._free.pop()
        else:
            block, _ = self._idle.popitem(last=False)
            self._clear(block)
        self._identities += 1
        self._refs[block], self._identity[block], self._parent[block] = 1, self._identities, parent
        return block

    def _hold(self, block: int) -> None:
        if not self._refs[block]:
            del self._idle[block]
        self._refs[block] += 1

    def _let_go(self, block: int) -> None:
        self._refs[block] -= 1
        if not self._refs[block]:
            if self._tokens[block]:
                self._idle[block] = None
            else:
                self._free.append(block)

    def _discard(self, block: int) -> None:
        self._clear(block)
        self._let_go(block)

    def _clear(self, block: int) -> None:
        """Forget what is in `block`, so that nobody finds it."""
        tokens = self._tokens[block]
        if tokens:
            siblings = self._children[self._parent[block], tokens[0]]
            siblings.remove(block)
            if not siblings:
                del self._children[self._parent[block], tokens[0]]
            self._tokens[block] = []


def root(lora: Lora) -> Lora:
    """The parent of the first block of a text that is read with these adapters."""
    return lora if any(lora) else ROOT


def shared_length(a: Sequence[int], b: Sequence[int]) -> int:
    """How many first elements of two sequences are the same."""
    n = min(len(a), len(b))
    if a[:n] == b[:n]:
        return n
    low, high = 0, n  # a[:low] is shared, a[:high] is not
    while high - low > 1:
        middle = (low + high) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle
    return low
