"""Turns a stream of tokens into text, as they come."""

import codecs

from llama.tokenizer.vocab import Vocab


class Detokenizer:
    """Feeds on ids and gives text. A character that is not whole yet is held back; bytes that are none become U+FFFD.

    Control tokens are shown with `special`, or if they are among the `preserved`.
    """

    def __init__(self, vocab: Vocab, *, special: bool = False, preserved: frozenset[int] = frozenset()) -> None:
        self._vocab = vocab
        self._special = special
        self._preserved = preserved
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def pending(self) -> bool:
        """True while a part of a character is held back."""
        return bool(self._decoder.getstate()[0])

    def feed(self, id: int) -> str:
        """The text that this token completes, perhaps none."""
        return self._decoder.decode(self._vocab.piece(id, special=self._special or id in self._preserved))

    def flush(self) -> str:
        """What was held back: U+FFFD for half a character, else nothing."""
        text = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        return text
