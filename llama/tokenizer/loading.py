"""Builds the vocabulary that a model file's metadata describe."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from llama.errors import ModelFileError
from llama.tokenizer.bpe import BytePairEncoder, read_merges
from llama.tokenizer.pieces import token_pieces, unblank, unspell
from llama.tokenizer.pretokenizers import pre_tokenizer
from llama.tokenizer.roles import Roles, find_ends, find_roles, mark_strips
from llama.tokenizer.special import SpecialTokens
from llama.tokenizer.spm import SentencePieceEncoder
from llama.tokenizer.tokens import Tokens, read_tokens
from llama.tokenizer.vocab import Encoder, Vocab

logger = logging.getLogger(__name__)

Metadata = Mapping[str, object]
TYPES = {"llama": "spm", "gpt2": "bpe", "gemma4": "bpe", "none": "none", "no_vocab": "none"}


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What a type of vocabulary says where the file's own keys do not."""

    encoder: Callable[[Metadata, Tokens, Roles], Encoder]
    spelled: Callable[[str], bytes]
    add_bos: bool = False
    add_eos: bool = False
    add_sep: bool = False
    add_space_prefix: bool = False
    clean_spaces: bool = False


KINDS = {
    "spm": Kind(
        encoder=lambda _, tokens, roles: SentencePieceEncoder(tokens, roles.unk),
        spelled=unblank,
        add_bos=True,
        add_space_prefix=True,
    ),
}


def load_vocab(metadata: Metadata) -> Vocab:
    """The vocabulary of a model file. ModelFileError for one that is missing, broken or of an unknown kind."""
    model = metadata.get("tokenizer.ggml.model")
    if model not in TYPES:
        raise ModelFileError(f'unknown tokenizer: "tokenizer.ggml.model" is {model!r}; known are {", ".join(TYPES)}')
    type = TYPES[str(model)]
    if type == "none":
        return _empty(metadata)
    tokens = read_tokens(metadata)
    kind = _byte_pairs(metadata, str(model)) if type == "bpe" else KINDS[type]
    roles = find_roles(metadata, type, tokens)
    encoder = kind.encoder(metadata, tokens, roles)
    eog = find_ends(roles, tokens)
    special = tokens.special()
    pieces = token_pieces(tokens, kind.spelled)
    mark_strips(metadata, tokens, special)
    return Vocab(
        type,
        tokens,
        roles,
        encoder=encoder,
        pieces=pieces,
        special=SpecialTokens(tokens, special),
        eog=eog,
        add_bos=_flag(metadata, "add_bos_token", kind.add_bos),
        add_eos=_flag(metadata, "add_eos_token", kind.add_eos),
        add_sep=_flag(metadata, "add_sep_token", kind.add_sep),
        add_space_prefix=_flag(metadata, "add_space_prefix", kind.add_space_prefix),
        clean_spaces=kind.clean_spaces,
        suppressed=_suppressed(metadata, len(tokens)),
    )


def _byte_pairs(metadata: Metadata, model: str) -> Kind:
    name = "gemma4" if model == "gemma4" else str(metadata.get("tokenizer.ggml.pre", ""))
    if not name:
        logger.warning('the file names no "tokenizer.ggml.pre": its text is cut up as by default, answers may be poor')
    pre = pre_tokenizer(name)
    merges = read_merges(metadata.get("tokenizer.ggml.merges"), required=name != "kimi-k2")

    return Kind(
        encoder=lambda _, tokens, roles: BytePairEncoder(tokens, merges, pre),
        spelled=unblank if pre.escape_blanks else unspell,
        add_bos=pre.add_bos,
        add_sep=pre.add_sep,
        clean_spaces=pre.clean_spaces,
    )


def _flag(metadata: Metadata, key: str, default: bool) -> bool:
    value = metadata.get(f"tokenizer.ggml.{key}", default)
    return bool(value)


def _suppressed(metadata: Metadata, n: int) -> tuple[int, ...]:
    ids = metadata.get("tokenizer.ggml.suppress_tokens")
    return tuple(int(id) for id in ids if 0 <= id < n) if isinstance(ids, np.ndarray) else ()


def _empty(metadata: Metadata) -> Vocab:
    """A vocabulary without text, for models that are fed with ids only."""
    n = metadata.get(f"{metadata.get('general.architecture')}.vocab_size", 0)
    n = n if isinstance(n, int) else 0
    tokens = Tokens([f"[{id}]" for id in range(n)], np.zeros(n, np.float32), np.zeros(n, np.uint8))
    return Vocab("none", tokens, Roles(), encoder=None, pieces=[b""] * n, special=SpecialTokens(tokens, ()))
