"""Unigram, T5's way: of all ways to cut a text into tokens the most probable one."""

from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property, lru_cache

import numpy as np

from llama.tokenizer.charmap import UTF8_LENGTHS, CharacterMap
from llama.tokenizer.pieces import BLANK
from llama.tokenizer.tokens import NORMAL, UNUSED, USER_DEFINED, Tokens
from llama.tokenizer.wordcache import CACHED_WORDS, LONGEST_CACHED, BlankSplitter

PENALTY = np.float32(10)  # how much less probable than the rarest token an unknown character is, in log


class UnigramEncoder:
    """Encodes text between special tokens. Safe to call from several threads.

    llama.cpp works on bytes, and lets the beginning of a user-defined token through unmapped even if it ends within a
    character. Where such tokens are all ASCII that cannot be, and characters serve as well, faster. Else the texts here
    are `bytewise`: a character of them is a byte.
    """

    def __init__(
        self, tokens: Tokens, unk: int | None, charmap: CharacterMap, *, add_space_prefix: bool, merge_blanks: bool
    ) -> None:
        usable = tokens.kinds & (NORMAL | USER_DEFINED | UNUSED) != 0
        fixed = tokens.kinds & USER_DEFINED != 0
        normal = tokens.scores[tokens.kinds & NORMAL != 0]
        self._unk = -1 if unk is None else unk
        self._unknown_score = float((normal.min() if len(normal) else np.float32(0)) - PENALTY)
        scores = np.where(fixed, np.float32(0), tokens.scores).tolist()
        fixed_texts = [tokens.texts[id] for id in np.flatnonzero(fixed).tolist()]
        self._bytewise = not all(text.isascii() for text in fixed_texts)
        self._blank = self._units(BLANK)
        self._scores: dict[str, tuple[float, int]] = {
            self._units(text): (scores[id], id) for id, text in enumerate(tokens.texts) if usable[id]
        }
        self._charmap = charmap
        self._fixed = FixedTexts(map(self._units, fixed_texts))
        self._prefix = add_space_prefix
        self._merge = merge_blanks
        self._remembered = lru_cache(CACHED_WORDS)(self._part)

    def encode(self, text: str) -> Iterable[int]:
        ids: list[int] = []
        normal = self._normal(text)
        for part in [normal] if self._bytewise else self._blanks.split(normal):
            for id in self._remembered(part) if len(part) <= LONGEST_CACHED else self._part(part):
                # What is unknown in a row is one unknown token, or nothing where the vocabulary has none.
                if id != self._unk or (id >= 0 and ids[-1:] != [id]):
                    ids.append(id)
        return ids

    def _units(self, text: str) -> str:
        return text.encode("utf-8", "surrogatepass").decode("latin-1") if self._bytewise else text

    @cached_property
    def _blanks(self) -> BlankSplitter:
        return BlankSplitter(self._scores)

    @cached_property
    def _lengths(self) -> dict[str, list[int]]:
        """The lengths of the tokens that begin with a character."""
        lengths: dict[str, set[int]] = defaultdict(set)
        for text in self._scores:
            lengths[text[0]].add(len(text))
        return {first: sorted(found) for first, found in lengths.items()}

    def _normal(self, text: str) -> str:
        """`text` with its characters mapped, and its blanks escaped as the vocabulary wants them."""
        if self._bytewise:
            mapped = self._charmap.apply_bytewise(self._units(text), self._fixed)
        else:
            mapped = self._charmap.apply(text, self._fixed)
        if self._merge:
            return "".join(self._blank + word for word in mapped.split(" ") if word)
        bare = mapped.lstrip(" ")
        if self._prefix and bare:
            mapped = " " * (len(mapped) - len(bare) + 1) + bare
        return mapped.replace(" ", self._blank)

    def _part(self, part: str) -> tuple[int, ...]:
        """The best path, found forwards: at each place the best way to get there and the token it ends with."""
        n = len(part)
        best = [0.0] + [-np.inf] * n
        taken = [(self._unk, 0)] * (n + 1)  # token, where it begins
        at = 0
        while at < n:
            size = min(UTF8_LENGTHS[ord(part[at]) >> 4], n - at) if self._bytewise else 1
            single = False
            for length in self._lengths.get(part[at], ()):
                found = self._scores.get(part[at : at + length]) if at + length <= n else None
                if found is not None:
                    single = single or length == size
                    if best[at] + found[0] > best[at + length]:
                        best[at + length] = best[at] + found[0]
                        taken[at + length] = (found[1], at)
            if not single and best[at] + self._unknown_score > best[at + size]:
                best[at + size] = best[at] + self._unknown_score
                taken[at + size] = (self._unk, at)
            at += size
        ids = []
        while n > 0:
            id, n = taken[n]
            ids.append(id)
        return tuple(reversed(ids))


class FixedTexts:
    """User-defined tokens, which stay as they are where a text is normalised, and so do beginnings of them."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._prefixes = {text[:n] for text in texts for n in range(1, len(text) + 1)}
        self.firsts = {prefix for prefix in self._prefixes if len(prefix) == 1}

    def match(self, text: str, at: int) -> int:
        """How many characters at `at` are the beginning of a user-defined token."""
        n = 0
        while at + n < len(text) and text[at : at + n + 1] in self._prefixes:
            n += 1
        return n
