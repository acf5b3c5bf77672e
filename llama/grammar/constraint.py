"""What sampling needs of a grammar while one text is generated, and what may start one late."""

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

TriggerKind = Literal["word", "pattern", "pattern_full", "token"]


class Constraint(Protocol):
    """One generation's walk through a grammar: asked about tokens, then told which one was picked."""

    def accepts(self, token: int) -> bool:
        """True if `token` may come next. Cheap: the mask is not computed."""
        ...

    def mask(self) -> NDArray[np.bool_]:
        """The tokens that may come next, (n_vocab,), read-only; end tokens are in it where the text may end."""
        ...

    def advance(self, token: int) -> None:
        """Step over the picked `token`. Raises GrammarError if it does not fit."""
        ...

    @property
    def finished(self) -> bool:
        """True if only an end token may follow."""
        ...

    @property
    def may_end(self) -> bool:
        """True if the text so far is complete."""
        ...


@dataclass(frozen=True, slots=True)
class Trigger:
    """What makes a lazy grammar begin.

    A word is found anywhere in the text, a pattern is searched in it, a full pattern must match all of it; a token
    fires by its id. The grammar then reads the text from the first capture group, or else from the start of the match.
    """

    kind: TriggerKind
    value: str = ""
    token: int | None = None
