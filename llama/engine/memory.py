"""What sequences have read and may read again: cache blocks, and for recurrent models checkpoints of their state.

Keys and values can be shared up to any token. A recurrent state cannot be cut, so such a model starts again only where
its state was kept: shortly before the end of a prompt, at intervals inside it, and where a text ended.
"""

from collections.abc import Sequence
from typing import Protocol

from llama.engine.cache import ROOT, BlockPool, Chain, Lora, root
from llama.kernels.executor import Executor

INTERVAL = 512  # tokens between two checkpoints in a prompt


class Memory(Protocol):
    """How the engine opens and closes chains. `lora`: the adapters that a text is read with."""

    pool: BlockPool

    def blank(self, lora: Lora = ROOT) -> Chain:
        """An empty chain, for work that shares nothing. Give it back by `drop`."""
        ...

    def drop(self, chain: Chain) -> None:
        """Let go of a chain without remembering where it ended."""
        ...

    def needed(self, tokens: Sequence[int], limit: int, lora: Lora = ROOT) -> int:
        """Available blocks it takes to open `tokens` and to go on by one."""
        ...

    def open(self, tokens: Sequence[int], limit: int, lora: Lora = ROOT) -> Chain:
        """A chain that has read the longest known beginning of `tokens`, at most `limit` of them."""
        ...

    def join(self, chain: Chain, tokens: Sequence[int], limit: int) -> int:
        """Take over what others have read since; return how many tokens."""
        ...

    def release(self, chain: Chain, tokens: Sequence[int]) -> None:
        """Let go of a chain that has read `tokens`, and remember it while there is room."""
        ...

    def forget(self, tokens: Sequence[int], lora: Lora = ROOT) -> None:
        """Remember no beginning of `tokens` that nobody uses."""
        ...

    def give_way(self) -> bool:
        """Free some blocks that are kept for later only; False if there are none."""
        ...

    def stretch(self, chain: Chain, n_prompt: int) -> int:
        """How many tokens may be read in one go before `reached` wants to see the chain."""
        ...

    def reached(self, chain: Chain, tokens: Sequence[int], n_prompt: int) -> None:
        """The chain has read `tokens`: keep a checkpoint if this is a good place."""
        ...


class SharedBlocks:
    """Memory of a model without recurrent layers: the block pool says it all."""

    def __init__(self, pool: BlockPool) -> None:
        self.pool = pool

    def blank(self, lora: Lora = ROOT) -> Chain:
        return self.pool.chain(lora=lora)

    def drop(self, chain: Chain) -> None:
        self.pool.release(chain)

    def needed(self, tokens: Sequence[int], limit: int, lora: Lora = ROOT) -> int:
        return self.pool.needed(tokens, limit, lora)

    def open(self, tokens: Sequence[int], limit: int, lora: Lora = ROOT) -> Chain:
        return self.pool.open(tokens, limit, lora)

    def join(self, chain: Chain, tokens: Sequence[int], limit: int) -> int:
        return self.pool.adopt(chain, tokens, limit)

    def release(self, chain: Chain, tokens: Sequence[int]) -> None:
        self.pool.release(chain)

    def forget(self, tokens: Sequence[int], lora: Lora = ROOT) -> None:
        self.pool.forget(tokens, lora)

    def give_way(self) -> bool:
        return False

    def stretch(self, chain: Chain, n_prompt: int) -> int:
        return 1 << 30

    def reached(self, chain: Chain, tokens: Sequence[int], n_prompt: int) -> None:
        pass


class Checkpoints:
    """Memory of a recurrent model: chains that stand still, each with its tokens and a state of its own.

    `n_active` chains can be open at once, `n_kept` checkpoints are remembered, the least recently used goes first.
    """

    def __init__(self, pool: BlockPool, executor: Executor, n_active: int, n_kept: int) -> None:
        self.pool = pool
        self._executor = executor
        self._free = list(range(n_active + n_kept))
        self._n_kept = n_kept
        self._kept: list[tuple[list[int], Chain]] = []  # least recently used first

    def blank(self, lora: Lora = ROOT) -> Chain:
        return self.pool.chain(self._free.pop(), lora)

    def drop(self, chain: Chain) -> None:
        self._free.append(chain.state)
        self.pool.release(chain)

    def needed(self, tokens: Sequence[int], limit: int, lora: Lora = ROOT) -> int:
        best = self._find(tokens, limit, lora)
        return self.pool.blocks_for(len(tokens) + 1) - (best[1].length // self.pool.size if best else 0)

    def open(self, tokens: Sequence[int], limit: int, lora: Lora = ROOT) -> Chain:
        best = self._find(tokens, limit, lora)
        if best is None:
            return self.blank(lora)
        self._kept.remove(best)
        self._kept.append(best)
        return self._copy(best[1])

    def join(self, chain: Chain, tokens: Sequence[int], limit: int) -> int:
        return 0

    def release(self, chain: Chain, tokens: Sequence[int]) -> None:
        if chain.length and self._n_kept:
            self._keep(chain, list(tokens[: chain.length]))
        else:
            self.drop(chain)

    def forget(self, tokens: Sequence[int], lora: Lora = ROOT) -> None:
        wanted = list(tokens)
        for kept in list(self._kept):
            if kept[1].lora == root(lora) and wanted[: len(kept[0])] == kept[0]:
                self._kept.remove(kept)
                self.drop(kept[1])

    def give_way(self) -> bool:
        if not self._kept:
            return False
        self.drop(self._kept.pop(0)[1])
        return True

    def stretch(self, chain: Chain, n_prompt: int) -> int:
        place = (chain.length // INTERVAL + 1) * INTERVAL
        return (min(place, n_prompt - 1) if chain.length < n_prompt - 1 else place) - chain.length

    def reached(self, chain: Chain, tokens: Sequence[int], n_prompt: int) -> None:
        if self._n_kept and (chain.length == n_prompt - 1 or (not chain.length % INTERVAL and chain.length < n_prompt)):
            if len(self._kept) >= self._n_kept:
                self.give_way()
            self._keep(self._copy(chain), list(tokens[: chain.length]))

    def _copy(self, chain: Chain) -> Chain:
        copy = self.pool.fork(chain, self._free.pop())
        self._executor.copy_state(chain.state, copy.state)
        return copy

    def _find(self, tokens: Sequence[int], limit: int, lora: Lora) -> tuple[list[int], Chain] | None:
        wanted = list(tokens[:limit])
        alike = [kept for kept in self._kept if kept[1].lora == root(lora) and len(kept[0]) <= limit]
        fitting = [kept for kept in alike if wanted[: len(kept[0])] == kept[0]]
        return max(fitting, key=lambda kept: len(kept[0]), default=None)

    def _keep(self, chain: Chain, tokens: list[int]) -> None:
        for kept in list(self._kept):
            if kept[0] == tokens and kept[1].lora == chain.lora:
                self._kept.remove(kept)
                self.drop(kept[1])
        self._kept.append((tokens, chain))
        while len(self._kept) > self._n_kept:
            self.give_way()
