"""A model's vocabulary as grammars see it."""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence

import numpy as np

from llama.grammar.masks import MaskCache
from llama.grammar.matcher import Matcher
from llama.grammar.program import Program
from llama.grammar.tree import build_tree


class TokenTrie:
    """All tokens of one vocabulary, built once a model.

    pieces: the bytes of each token, b"" for those that never match text (control tokens);  eog: the tokens that end a
    text, which match nothing else;  texts: ids by name, for the `<token>` elements of grammars.
    n_matchers, mask_bytes: how many grammars, and how much memory for masks, are kept; the least recently used go.
    """

    def __init__(
        self,
        pieces: Sequence[bytes],
        eog: frozenset[int] = frozenset(),
        texts: Mapping[str, int] | None = None,
        *,
        n_matchers: int = 16,
        mask_bytes: int = 64 << 20,
    ) -> None:
        self._n_matchers = n_matchers
        self.masks = MaskCache(mask_bytes)
        self.pieces = tuple(pieces)
        self.eog = eog
        self.texts = texts or {}
        self.n_vocab = len(self.pieces)
        self.end_tokens = np.array(sorted(eog), np.int64)
        self.tree, self.tokens = build_tree(self.pieces, eog)
        self.longest = max(map(len, self.pieces), default=0)
        self._names: dict[int, str] | None = None
        self._matchers: OrderedDict[Program, Matcher] = OrderedDict()
        self._lock = threading.Lock()

    def shown(self, token: int) -> bytes:
        """The text of `token`; of a control token, its name."""
        piece = self.pieces[token]
        if piece:
            return piece
        if self._names is None:
            self._names = {number: name for name, number in self.texts.items()}
        return self._names.get(token, "").encode()

    def matcher(self, program: Program) -> Matcher:
        """The matcher of `program` over this vocabulary; the most recently used ones are kept."""
        with self._lock:
            found = self._matchers.get(program)
            if found is None:
                found = self._matchers[program] = Matcher(program, self)
                if len(self._matchers) > self._n_matchers:
                    self._matchers.popitem(last=False)
            self._matchers.move_to_end(program)
            return found
