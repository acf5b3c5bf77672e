"""What makes tokenising fast: words are tokenised once, and long texts are cut where no token can cross."""

import re
from collections.abc import Iterable

from llama.tokenizer.pieces import BLANK

CACHED_WORDS = 1 << 16
LONGEST_CACHED = 64  # characters; longer words hardly come twice
_INSIDE = re.compile(rf"[^{BLANK}\0]{BLANK}")


class BlankSplitter:
    """Cuts text in front of escaped blanks, except behind characters that some token has in front of one.

    No symbol can then grow across a cut, so the parts merge exactly as the whole would.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        inside = {match[0] for match in _INSIDE.findall("\0".join(texts))}
        kept = "".join(re.escape(char) for char in sorted(inside))
        self._pattern = re.compile(f"(?<![{BLANK}{kept}])(?={BLANK})")

    def split(self, text: str) -> list[str]:
        """The parts of `text`, none of them empty."""
        return [part for part in self._pattern.split(text) if part]
