"""Builds the vocabulary that a model file's metadata describe."""

import logging
from collections.abc import Mapping

import numpy as np

from llama.errors import ModelFileError
from llama.tokenizer.kinds import KINDS, Kind, byte_pairs, flag
from llama.tokenizer.roles import Roles, find_ends, find_roles, mark_strips
from llama.tokenizer.special import SpecialTokens
from llama.tokenizer.tokens import Tokens, read_tokens
from llama.tokenizer.vocab import Vocab

logger = logging.getLogger(__name__)

EMPTY = ("none", "no_vocab")
BYTE_PAIRS = ("gpt2", "gemma4", "whitespace", "hybriddna")


def load_vocab(metadata: Mapping[str, object]) -> Vocab:
    """The vocabulary of a model file. ModelFileError for one that is missing, broken or of an unknown kind."""
    model = str(metadata.get("tokenizer.ggml.model"))
    if model in EMPTY:
        return _empty(metadata)
    kind = _kind(model, metadata)
    tokens = read_tokens(metadata)
    roles = find_roles(metadata, kind.roles, tokens)
    encoder = kind.encoder(metadata, tokens, roles)
    eog = find_ends(roles, tokens)
    special = tokens.special()
    pieces = kind.pieces(tokens)
    mark_strips(metadata, tokens, special)
    return Vocab(
        kind.type,
        tokens,
        roles,
        encoder=encoder,
        pieces=pieces,
        special=SpecialTokens(tokens, special),
        eog=eog,
        add_bos=kind.always_bos or flag(metadata, "add_bos_token", kind.add_bos),
        add_eos=flag(metadata, "add_eos_token", kind.add_eos),
        add_sep=flag(metadata, "add_sep_token", kind.add_sep),
        add_space_prefix=flag(metadata, "add_space_prefix", kind.add_space_prefix),
        clean_spaces=kind.clean_spaces,
        suppressed=_suppressed(metadata, len(tokens)),
    )


def _kind(model: str, metadata: Mapping[str, object]) -> Kind:
    if model in KINDS:
        return KINDS[model]
    if model not in BYTE_PAIRS:
        known = ", ".join([*KINDS, *BYTE_PAIRS, *EMPTY])
        raise ModelFileError(f'unknown tokenizer: "tokenizer.ggml.model" is {model!r}; known are {known}')
    name = "gemma4" if model == "gemma4" else str(metadata.get("tokenizer.ggml.pre", ""))
    if not name:
        logger.warning('the file names no "tokenizer.ggml.pre": its text is cut up as by default, answers may be poor')
    return byte_pairs(model, name, metadata.get("tokenizer.ggml.merges"))


def _suppressed(metadata: Mapping[str, object], n: int) -> tuple[int, ...]:
    ids = metadata.get("tokenizer.ggml.suppress_tokens")
    return tuple(int(id) for id in ids if 0 <= id < n) if isinstance(ids, np.ndarray) else ()


def _empty(metadata: Mapping[str, object]) -> Vocab:
    """A vocabulary without text, for models that are fed with ids only."""
    n = metadata.get(f"{metadata.get('general.architecture')}.vocab_size", 0)
    n = n if isinstance(n, int) else 0
    tokens = Tokens([f"[{id}]" for id in range(n)], np.zeros(n, np.float32), np.zeros(n, np.uint8))
    return Vocab("none", tokens, Roles(), encoder=None, pieces=[b""] * n, special=SpecialTokens(tokens, ()))
