"""The kinds of vocabularies: how each encodes and spells, and what it says where a file's own keys do not."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from llama.tokenizer.bpe import BytePairEncoder, read_merges
from llama.tokenizer.charmap import read_charmap
from llama.tokenizer.dna import DnaEncoder
from llama.tokenizer.pieces import raw_all, token_pieces, unblank_all, unescape, unspell_all
from llama.tokenizer.plamo import BestPathEncoder
from llama.tokenizer.pretokenizers import pre_tokenizer
from llama.tokenizer.roles import Roles
from llama.tokenizer.rwkv import LongestMatchEncoder
from llama.tokenizer.spm import SentencePieceEncoder
from llama.tokenizer.tokens import Tokens
from llama.tokenizer.ugm import UnigramEncoder
from llama.tokenizer.vocab import Encoder
from llama.tokenizer.whitespace import WhitespaceEncoder
from llama.tokenizer.wpm import WordPieceEncoder

Metadata = Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of vocabulary. `roles` are the ids of special tokens unless keys of the file say otherwise."""

    type: str
    encoder: Callable[[Metadata, Tokens, Roles], Encoder]
    pieces: Callable[[Tokens], list[bytes]]
    roles: Roles
    add_bos: bool = False
    always_bos: bool = False
    add_eos: bool = False
    add_sep: bool = False
    add_space_prefix: bool = False
    clean_spaces: bool = False


def flag(metadata: Metadata, key: str, default: bool) -> bool:
    """The truth value of a `tokenizer.ggml.` key."""
    return bool(metadata.get(f"tokenizer.ggml.{key}", default))


def _unblanked(tokens: Tokens) -> list[bytes]:
    return token_pieces(tokens, unblank_all)


def _unspelled(tokens: Tokens) -> list[bytes]:
    return token_pieces(tokens, unspell_all)


def _word_pieces(metadata: Metadata, tokens: Tokens, roles: Roles) -> Encoder:
    lowercase = flag(metadata, "normalizer.lowercase", True)
    strip_accents = flag(metadata, "normalizer.strip_accents", lowercase)
    return WordPieceEncoder(tokens, roles.unk, lowercase=lowercase, strip_accents=strip_accents)


def _unigrams(metadata: Metadata, tokens: Tokens, roles: Roles) -> Encoder:
    return UnigramEncoder(
        tokens,
        roles.unk,
        read_charmap(metadata.get("tokenizer.ggml.precompiled_charsmap")),
        add_space_prefix=flag(metadata, "add_space_prefix", False),
        merge_blanks=flag(metadata, "remove_extra_whitespaces", False),
    )


# By tokenizer.ggml.model; byte-pair vocabularies, which depend on tokenizer.ggml.pre too, are made by `byte_pairs`.
KINDS = {
    "llama": Kind(
        type="spm",
        encoder=lambda _, tokens, roles: SentencePieceEncoder(tokens, roles.unk),
        pieces=_unblanked,
        roles=Roles(bos=1, eos=2, unk=0),
        add_bos=True,
        add_space_prefix=True,
    ),
    "bert": Kind(
        type="wpm",
        encoder=_word_pieces,
        pieces=_unblanked,
        roles=Roles(bos=101, unk=100, sep=102, pad=0, mask=103),
        add_bos=True,
        add_sep=True,
        clean_spaces=True,
    ),
    "t5": Kind(
        type="ugm",
        encoder=_unigrams,
        pieces=_unblanked,
        roles=Roles(eos=1, unk=2, pad=0),
        add_eos=True,
    ),
    "rwkv": Kind(
        type="rwkv",
        encoder=lambda _, tokens, roles: LongestMatchEncoder(tokens, roles.unk),
        pieces=lambda tokens: [unescape(text) for text in tokens.texts],
        roles=Roles(),
    ),
    "plamo2": Kind(
        type="plamo2",
        encoder=lambda _, tokens, roles: BestPathEncoder(tokens),
        pieces=raw_all,
        roles=Roles(bos=1, eos=2, unk=0, pad=3),
    ),
}


def byte_pairs(model: str, name: str, merges: object) -> Kind:
    """The kind of a byte-pair vocabulary whose pre-tokenizer is called `name`."""
    pre = pre_tokenizer(name)
    pairs = read_merges(merges, required=name != "kimi-k2")

    def encoder(metadata: Metadata, tokens: Tokens, roles: Roles) -> Encoder:
        made = BytePairEncoder(tokens, pairs, pre)
        if model == "whitespace":
            lowercase = flag(metadata, "normalizer.lowercase", name != "whitespace")
            return WhitespaceEncoder(made, lowercase=lowercase)
        return DnaEncoder(made, tokens) if model == "hybriddna" else made

    return Kind(
        type="bpe",
        encoder=encoder,
        pieces=_unblanked if pre.escape_blanks else _unspelled,
        roles=Roles() if model == "gemma4" else Roles(bos=None if pre.no_bos else 11, eos=11),
        add_bos=pre.add_bos,
        always_bos=pre.always_bos,
        add_sep=pre.add_sep,
        clean_spaces=pre.clean_spaces,
    )
