"""A grammar that begins late: once a trigger is written, or once the thought before the answer is over."""

from collections.abc import Sequence

import numpy as np
import regex

from llama.errors import GrammarError
from llama.grammar.constraint import Trigger
from llama.grammar.masks import Mask
from llama.grammar.matcher import GrammarConstraint
from llama.grammar.program import Program
from llama.grammar.trie import TokenTrie

SEARCH_SECONDS = 1.0
WORD_OVERLAP = 256


class LazyConstraint:
    """Everything may come until a trigger fires; from the place it marks on, the text must follow the grammar.

    after: text that must have been written before triggers count (the end of a thought). Without triggers the grammar
    begins right behind it, a few blanks aside, and the text may not end before.
    Raises GrammarError for a pattern that is no regular expression, and when there is nothing to wait for.
    """

    def __init__(
        self, program: Program, trie: TokenTrie, triggers: Sequence[Trigger] = (), after: str | None = None
    ) -> None:
        if not triggers and not after:
            raise GrammarError("a lazy grammar needs at least one trigger", field="grammar_triggers")
        self._matcher = trie.matcher(program)
        self._trie = trie
        self._tokens = frozenset(trigger.token for trigger in triggers if trigger.kind == "token")
        self._words = tuple(trigger.value for trigger in triggers if trigger.kind == "word")
        self._patterns = tuple(_pattern(trigger) for trigger in triggers if trigger.kind.startswith("pattern"))
        self._after = after
        self._has_triggers = bool(triggers)
        self._text = ""
        self._pending = b""
        self._begun: GrammarConstraint | None = None
        self._refused: set[int] = set()
        self._ended = False

    @property
    def waiting(self) -> bool:
        """True while no trigger has fired."""
        return self._begun is None

    def accepts(self, token: int) -> bool:
        """True if `token` may come next. While waiting, only one that fires a trigger against the grammar may not."""
        if self._begun is not None:
            return self._begun.accepts(token)
        if token in self._trie.eog:
            return self._may_end_waiting()
        if not 0 <= token < self._trie.n_vocab:
            return False
        if token in self._refused:
            return False
        try:
            self._look(token)
        except GrammarError:
            self._refused.add(token)
            return False
        return True

    def mask(self) -> Mask:
        """The tokens that may come next, (n_vocab,), read-only."""
        if self._begun is not None:
            return self._begun.mask()
        mask = np.ones(self._trie.n_vocab, np.bool_)
        mask[list(self._refused)] = False
        if not self._may_end_waiting():
            mask[self._trie.end_tokens] = False
        mask.flags.writeable = False
        return mask

    def advance(self, token: int) -> None:
        """Step over `token`. Raises GrammarError if it does not fit."""
        if self._begun is not None:
            self._begun.advance(token)
        elif token in self._trie.eog:
            self._ended = True
        else:
            self._refused.clear()
            self._text, self._pending, self._after, self._begun = self._look(token)
            if self._begun is not None:
                self._text = ""

    @property
    def finished(self) -> bool:
        """True if only an end token may follow."""
        return self._begun.finished if self._begun is not None else self._ended

    @property
    def may_end(self) -> bool:
        """True if the text so far is complete."""
        return self._begun.may_end if self._begun is not None else self._may_end_waiting()

    def _may_end_waiting(self) -> bool:
        return self._has_triggers

    def _look(self, token: int) -> tuple[str, bytes, str | None, GrammarConstraint | None]:
        """The text, half a character at its end, what is waited for first, and the grammar if it has begun."""
        after = self._after
        if after is None and token in self._tokens:
            return "", b"", None, self._begin_with(token)
        data = self._pending + self._trie.shown(token)
        whole = _whole_characters(data)
        text, pending = self._text + data[:whole].decode(errors="replace"), data[whole:]
        searched_from = max(0, len(self._text) - WORD_OVERLAP)
        if after is not None:
            at = text.find(after, max(0, len(self._text) - len(after)))
            if at < 0:
                return text, pending, after, None
            text, after, searched_from = text[at + len(after) :], None, 0
            if not self._has_triggers:
                return "", b"", None, self._begin_with_text(text.encode() + pending, spaced=True)
        start = self._fired_at(text, searched_from)
        if start is None:
            return text, pending, after, None
        return "", b"", None, self._begin_with_text(text[start:].encode() + pending)

    def _fired_at(self, text: str, searched_from: int) -> int | None:
        """Where the text begins that the grammar must read; None if no trigger fires."""
        starts = [text.find(word, max(0, searched_from - len(word))) for word in self._words]
        found = [start for start in starts if start >= 0]
        if found:
            return min(found)
        for pattern, full in self._patterns:
            try:
                match = (
                    pattern.fullmatch(text, timeout=SEARCH_SECONDS)
                    if full
                    else pattern.search(text, timeout=SEARCH_SECONDS)
                )
            except TimeoutError:
                raise GrammarError(
                    f"the trigger pattern {pattern.pattern!r} takes too long", field="grammar_triggers"
                ) from None
            if match is not None:
                groups = [match.start(i) for i in range(1, (pattern.groups or 0) + 1) if match.start(i) >= 0]
                return groups[0] if groups else match.start()
        return None

    def _begin_with(self, token: int) -> GrammarConstraint:
        """The grammar after a token that fired: as a `<token>` element, or else as its text."""
        begun = self._matcher.constraint()
        if begun.accepts(token):
            begun.advance(token)
            return begun
        return self._begin_with_text(self._trie.shown(token))

    def _begin_with_text(self, text: bytes, *, spaced: bool = False) -> GrammarConstraint:
        begun = self._matcher.constraint(spaced=spaced)
        begun.read(text)
        return begun


def _pattern(trigger: Trigger) -> "tuple[regex.Pattern[str], bool]":
    try:
        return regex.compile(trigger.value), trigger.kind == "pattern_full"
    except regex.error as error:
        raise GrammarError(
            f"the trigger pattern {trigger.value!r} is no regular expression: {error}", field="grammar_triggers"
        ) from None


def _whole_characters(data: bytes) -> int:
    """How many bytes of `data` come before a character that is cut off at the end."""
    for size in range(1, min(4, len(data)) + 1):
        byte = data[-size]
        if byte >= 0xC0:
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(data) - size if needed > size else len(data)
        if byte < 0x80:
            break
    return len(data)
