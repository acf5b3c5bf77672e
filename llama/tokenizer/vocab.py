"""A vocabulary: encodes text into token ids and tells what each id stands for."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from llama.errors import NotSupported
from llama.tokenizer.cleaning import clean
from llama.tokenizer.roles import Roles
from llama.tokenizer.special import SpecialTokens
from llama.tokenizer.tokens import CONTROL, UNKNOWN, Tokens


class Encoder(Protocol):
    """Encodes text that holds no special tokens."""

    def encode(self, text: str) -> Iterable[int]: ...


class Vocab:
    """What a model reads and writes. Safe to use from several threads; ids are llama.cpp's for every text.

    `type` is llama.cpp's kind: "bpe", "spm", "wpm", "ugm", "rwkv", "plamo2" or "none". Ids of parts that the vocabulary
    does not have are None; `eog` are the tokens that end a text; `pieces` are the bytes of each token as a grammar sees
    them, nothing for control tokens; `suppressed` are tokens that the file wants never to be generated.
    """

    def __init__(
        self,
        type: str,
        tokens: Tokens,
        roles: Roles,
        *,
        encoder: Encoder | None,
        pieces: Sequence[bytes],
        special: SpecialTokens,
        eog: frozenset[int] = frozenset(),
        add_bos: bool = False,
        add_eos: bool = False,
        add_sep: bool = False,
        add_space_prefix: bool = False,
        clean_spaces: bool = False,
        suppressed: tuple[int, ...] = (),
    ) -> None:
        self.type = type
        self.n_vocab = len(tokens)
        self.bos, self.eos, self.eot, self.eom = roles.bos, roles.eos, roles.eot, roles.eom
        self.unk, self.sep, self.pad, self.mask = roles.unk, roles.sep, roles.pad, roles.mask
        self.fim_pre, self.fim_suf, self.fim_mid = roles.fim_pre, roles.fim_suf, roles.fim_mid
        self.fim_pad, self.fim_rep, self.fim_sep = roles.fim_pad, roles.fim_rep, roles.fim_sep
        self.eog = eog
        self.add_bos, self.add_eos, self.add_sep = add_bos, add_eos, add_sep
        self.add_space_prefix = add_space_prefix
        self.clean_spaces = clean_spaces
        self.suppressed = suppressed
        self._tokens = tokens
        self._encoder = encoder
        self._special = special
        self._pieces = tuple(pieces)
        hidden = tokens.kinds & (CONTROL | UNKNOWN) != 0
        self.pieces = tuple(b"" if hide else piece for hide, piece in zip(hidden.tolist(), pieces, strict=True))
        self._first, self._last = self._frame()

    def _frame(self) -> tuple[list[int], list[int]]:
        """What `add_special` puts before and behind a text."""
        if self.type == "wpm":
            first, last = self.bos, self.sep
        elif self.type in ("bpe", "spm", "ugm"):
            first, last = self.bos if self.add_bos else None, self.eos if self.add_eos else None
        else:
            first = last = None
        return [] if first is None else [first], [] if last is None else [last]

    def encode(self, text: str, *, add_special: bool = True, parse_special: bool = True, guard: str = "") -> list[int]:
        """The ids of `text`. `parse_special` finds control tokens in it; user-defined ones are found in any case.

        `add_special` puts those tokens around it that the vocabulary asks for, such as BOS. `guard` is a character that
        keeps what it stands in from being read as a control token; it is left out of the text then.
        """
        if self._encoder is None:
            raise NotSupported("this model has no tokenizer: give the prompt as token ids")
        ids = [*self._first] if add_special else []
        after_special = True
        for part in self._special.split(text, parse_special=parse_special):
            if isinstance(part, int):
                ids.append(part)
            else:
                part = part.replace(guard, "") if guard else part
                prefixed = self.type == "spm" and self.add_space_prefix and after_special
                ids += self._encoder.encode(" " + part if prefixed else part)
            after_special = isinstance(part, int)
        if add_special:
            ids += self._last
        return ids

    def piece(self, id: int, *, special: bool = True) -> bytes:
        """The bytes that a token stands for; nothing for control tokens unless `special`."""
        return self._pieces[id] if special else self.pieces[id]

    def is_control(self, id: int) -> bool:
        """True for tokens that steer a model and are no text."""
        return bool(self._tokens.kinds[id] & CONTROL)

    def text(self, id: int) -> str:
        """The token as the vocabulary spells it."""
        return self._tokens.texts[id]

    @property
    def ids(self) -> Mapping[str, int]:
        """The id of each token by the vocabulary's spelling; of those that are spelt alike, the last."""
        return MappingProxyType(self._tokens.ids)

    def token_id(self, text: str) -> int | None:
        """The id of the token that the vocabulary spells so."""
        return self._tokens.ids.get(text)

    def join(self, ids: Iterable[int], *, special: bool = True) -> bytes:
        """The pieces of the tokens, joined: what llama-server's /detokenize and its streams give."""
        pieces = self._pieces if special else self.pieces
        return b"".join([pieces[id] for id in ids])

    def decode(self, ids: Iterable[int], *, special: bool = True) -> str:
        """The pieces of the tokens, joined; what is no UTF-8 becomes U+FFFD."""
        return self.join(ids, special=special).decode("utf-8", "replace")

    def clean(self, ids: Sequence[int], *, special: bool = True) -> bytes:
        """The text as llama_detokenize gives it: without the blank that the tokenizer put in front, and tidied."""
        data = self.join(ids, special=special)
        if self.add_space_prefix and ids and self.piece(ids[0], special=special).startswith(b" "):
            data = data[1:]
        return clean(data) if self.clean_spaces else data
