"""The reasoning budget: after so many tokens of thought the end marker is forced, token by token."""

from llama.engine.request import ReasoningBudget


class Thought:
    """Follows the tokens of one choice and says when one is forced.

    Idle until the start marker was said; then counting; when the budget is spent, and no character is half said, the
    end is forced. A new start marker opens a new thought with a fresh budget.
    """

    def __init__(self, budget: ReasoningBudget) -> None:
        self._budget = budget
        self._close = budget.close or budget.end
        self._recent: list[int] = []
        self._open = budget.already_open
        self._spent = 0
        self._forced: list[int] = []  # what is still to be forced, last first
        self._ended = False  # somebody asked for the end

    def end(self) -> bool:
        """Ask for the end of the thought that is open now; False if none is."""
        self._ended = self._open and not self._forced
        return self._ended

    def next(self, inside_character: bool) -> int | None:
        """The token that must come next, or None to let the model choose."""
        if self._forced:
            return self._forced[-1]
        spent = self._ended or 0 <= self._budget.n <= self._spent
        if self._open and spent and not inside_character and self._budget.end:
            self._forced = list(reversed(self._budget.end))
            return self._forced[-1]
        return None

    def give_up(self) -> None:
        """Stop forcing: the grammar does not allow it here."""
        self._forced, self._open, self._ended = [], False, False

    def accept(self, token: int) -> None:
        """Take note of the token that was picked or forced."""
        if self._forced:
            self._forced.pop()
            if not self._forced:
                self._open, self._ended, self._recent = False, False, []
            return
        self._recent.append(token)
        del self._recent[: -max(len(self._budget.start), len(self._close), 1)]
        if self._open:
            self._spent += 1
            if self._said(self._close):
                self._open, self._ended, self._recent = False, False, []
        elif self._said(self._budget.start):
            self._open, self._spent, self._recent = True, 0, []

    def _said(self, marker: tuple[int, ...]) -> bool:
        return bool(marker) and tuple(self._recent[-len(marker) :]) == marker
