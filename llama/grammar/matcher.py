"""A grammar over a vocabulary, and one text's walk through it."""

from typing import TYPE_CHECKING

import numpy as np

from llama.errors import GrammarError
from llama.grammar.automaton import TOKEN
from llama.grammar.interning import DEAD
from llama.grammar.masks import Mask, MaskFound
from llama.grammar.program import ARGUMENT, FOLLOWING, KIND
from llama.grammar.space import Space
from llama.grammar.tree import allow_runs, allow_tokens, with_ancestors

if TYPE_CHECKING:
    from llama.grammar.program import Program
    from llama.grammar.trie import TokenTrie

SPACE_BYTES = 32 << 20


class Matcher:
    """Says which tokens may follow in which state. Shared by all texts under the same grammar."""

    def __init__(self, program: "Program", trie: "TokenTrie", *, space_bytes: int = SPACE_BYTES) -> None:
        self.program = program
        self.trie = trie
        self.space = Space(program, trie.longest)
        self._tokens = program.resolve_tokens(trie.texts)
        self._space_bytes = space_bytes

    def constraint(self, *, spaced: bool = False) -> "GrammarConstraint":
        """A walk that stands at the beginning; spaced: a few blanks may come first."""
        return GrammarConstraint(self, spaced=spaced)

    def current(self, space: Space, state: int) -> tuple[Space, int]:
        """The same state in the space that is in use now: one that has grown too large is left behind."""
        if self.space.nbytes > self._space_bytes:
            self.space = Space(self.program, self.trie.longest)
        if space is not self.space:
            state = self.space.adopt(space, state)
        return self.space, state

    def mask(self, space: Space, state: int) -> Mask:
        """The tokens that may come next in `state`."""
        with space.lock:
            short = space.shortened(state)
            found = self.trie.masks.get((space.number, short))
            if found is None:
                found = self._new_mask(space, short)
                self.trie.masks.put((space.number, short), found)
            if not len(found.undecided):
                return found.mask
            whole = self.trie.masks.get((space.number, state))
            if whole is None:
                whole = self._decided(space, state, found)
                self.trie.masks.put((space.number, state), whole)
            return whole.mask

    def after(self, space: Space, state: int, token: int) -> int:
        """The state after `token`; DEAD if it may not come. End tokens are not for this."""
        with space.lock:
            text = self.trie.pieces[token]
            by_text = space.read(state, text) if text else DEAD
            whole = [
                (int(space.network.node[node, FOLLOWING]), link)
                for node, link in self._token_heads(space, state)
                if self._takes(node, token)
            ]
            return space.after(whole + space.heads(by_text)) if whole else by_text

    def _decided(self, space: Space, state: int, found: MaskFound) -> MaskFound:
        """The mask of `state`, given that of its shortened form: tokens that get down to the cut are read again."""
        mask = found.mask.copy()
        alive = space.allow_again(state, self.trie.tree, found.undecided)
        allow_tokens(self.trie.tree, self.trie.tokens, alive, mask)
        mask.flags.writeable = False
        return MaskFound(mask)

    def _new_mask(self, space: Space, state: int) -> MaskFound:
        tree = self.trie.tree
        runs, cut = space.allow(state, tree)
        mask = np.zeros(self.trie.n_vocab, np.bool_)
        allow_runs(self.trie.tokens, runs, mask)
        for node, _ in self._token_heads(space, state):
            wanted = self._wanted(node)
            if wanted >= 0:
                mask[wanted] = True
            else:
                mask[: -1 - wanted] = True
                mask[-wanted:] = True
        mask[self.trie.end_tokens] = space.may_end(state)
        mask.flags.writeable = False
        return MaskFound(mask, with_ancestors(tree, cut) if len(cut) else cut)

    def _token_heads(self, space: Space, state: int) -> list[tuple[int, int]]:
        if not len(self._tokens):
            return []
        return [(node, link) for node, link in space.heads(state) if space.network.node[node, KIND] == TOKEN]

    def _wanted(self, node: int) -> int:
        return int(self._tokens[self.program.network.node[node, ARGUMENT]])

    def _takes(self, node: int, token: int) -> bool:
        wanted = self._wanted(node)
        return token == wanted if wanted >= 0 else token != -1 - wanted


class GrammarConstraint:
    """One text's place in a grammar: a `Constraint`."""

    def __init__(self, matcher: Matcher, *, spaced: bool = False) -> None:
        self._matcher = matcher
        self._space = matcher.space
        self._state = self._space.spaced_start if spaced else self._space.start
        self._ended = False

    def accepts(self, token: int) -> bool:
        """True if `token` may come next."""
        if token in self._matcher.trie.eog:
            return self.may_end
        return self._after(token) != DEAD

    def mask(self) -> Mask:
        """The tokens that may come next, (n_vocab,), read-only."""
        self._space, self._state = self._matcher.current(self._space, self._state)
        return self._matcher.mask(self._space, self._state)

    def advance(self, token: int) -> None:
        """Step over `token`. Raises GrammarError if it does not fit."""
        if token in self._matcher.trie.eog and self.may_end:
            self._ended = True
            return
        state = DEAD if token in self._matcher.trie.eog else self._after(token)
        if state == DEAD:
            raise GrammarError(f"token {token} does not fit the grammar here", field=None)
        self._state = state

    def read(self, text: bytes) -> None:
        """Step over bytes that need not be whole tokens. Raises GrammarError if they do not fit."""
        with self._space.lock:
            state = self._space.read(self._state, text)
        if state == DEAD:
            raise GrammarError(f"{text.decode(errors='replace')!r} does not fit the grammar here", field=None)
        self._state = state

    @property
    def finished(self) -> bool:
        """True if only an end token may follow."""
        return self._ended or (self.may_end and not self._space.waits_for_more(self._state))

    @property
    def may_end(self) -> bool:
        """True if the text so far is complete."""
        return self._ended or self._space.may_end(self._state)

    def _after(self, token: int) -> int:
        if self._ended or not 0 <= token < self._matcher.trie.n_vocab:
            return DEAD
        self._space, self._state = self._matcher.current(self._space, self._state)
        return self._matcher.after(self._space, self._state, token)
