"""Cuts text into the words that byte-pair merging works on, by the stages of a vocabulary's pre-tokenizer."""

import re
from collections.abc import Callable, Sequence
from functools import cached_property

from llama.tokenizer import characters
from llama.tokenizer.patterns import HAN, HAN_LETTER, HAN_OTHER, N


class Views:
    """A text and what the patterns see of it, each as long as the text."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def shadow(self) -> str:
        return characters.shadow(self.text)

    @cached_property
    def plain(self) -> str:
        return characters.ascii_blanks(self.text)

    @cached_property
    def han(self) -> str:
        """The shadow with two codes of their own for Chinese letters and for gaps between them."""
        if self.text.isascii():
            return self.text
        parts = [characters.shadow(part) for part in _HAN_RUN.split(self.text)]
        parts[1::2] = [part.translate(_HAN_SHADOWS) for part in parts[1::2]]
        return "".join(parts)


_HAN_SHADOWS = str.maketrans(characters.LETTER + characters.OTHER, HAN_LETTER + HAN_OTHER)
_HAN_RUN = re.compile(f"([{HAN}]+)")
_NUMBERS = re.compile(f"[{N}]+")
_DIGITS = re.compile("[0-9]+")

# A stage cuts each piece of the text further: ends of the pieces -> ends of smaller pieces.
Stage = Callable[[Views, Sequence[int]], list[int]]


def over_shadow(pattern: str) -> Stage:
    """Cuts at both ends of each match in the shadow."""
    return _matches(re.compile(pattern, re.ASCII), lambda views: views.shadow)


def over_plain(pattern: str) -> Stage:
    """Cuts at both ends of each match in the text itself."""
    return _matches(re.compile(pattern, re.ASCII), lambda views: views.plain)


def over_han(pattern: str) -> Stage:
    """Cuts at both ends of each match in the shadow that tells Chinese characters apart."""
    return _matches(re.compile(pattern, re.ASCII), lambda views: views.han)


def _matches(pattern: re.Pattern[str], view: Callable[[Views], str]) -> Stage:
    def cut(views: Views, ends: Sequence[int]) -> list[int]:
        seen = view(views)
        if len(ends) > 1 and pattern.search(seen) is None:
            return list(ends)
        cuts: list[int] = []
        start = 0
        for end in ends:
            at = start
            for match in pattern.finditer(seen, start, end):
                begin, close = match.span()
                if begin > at:
                    cuts.append(begin)
                cuts.append(close)
                at = close
            if at < end:
                cuts.append(end)
            start = end
        return cuts

    return cut


def thousands(views: Views, ends: Sequence[int]) -> list[int]:
    """Cuts numbers into threes from the right; what stands before a number keeps its first one to three digits."""
    cuts: list[int] = []
    start = 0
    for end in ends:
        for run in _NUMBERS.finditer(views.shadow, start, end):
            first = run.start() + (len(run[0]) % 3 or 3)
            cuts += range(first, run.end() + 1, 3)
        if not cuts or cuts[-1] < end:
            cuts.append(end)
        start = end
    return cuts


def digit_threes(views: Views, ends: Sequence[int]) -> list[int]:
    """Cuts runs of the digits 0-9 into threes from their right end."""
    cuts: list[int] = []
    start = 0
    for end in ends:
        for run in _DIGITS.finditer(views.text, start, end):
            cuts += range(run.start() + len(run[0]) % 3, run.end(), 3)
        cuts.append(end)
        start = end
    return cuts


def words(text: str, stages: Sequence[Stage]) -> list[str]:
    """The pieces of `text`, in order; joined they are the text."""
    views = Views(text)
    ends: Sequence[int] = [len(text)]
    for stage in stages:
        ends = stage(views, ends)
    pieces = []
    start = 0
    for end in ends:
        if end > start:
            pieces.append(text[start:end])
            start = end
    return pieces
