"""Which token plays which part: beginning, end, padding, fill-in-the-middle, and the set of those that end a text.

Files say it by ids under keys of their own; what they leave out is known by the token's text, as llama.cpp knows it.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from llama.tokenizer.tokens import CONTROL, LSTRIP, NORMAL, RSTRIP, USER_DEFINED, Tokens

logger = logging.getLogger(__name__)


@dataclass
class Roles:
    """Ids of the tokens with a part to play, None where the vocabulary has none."""

    bos: int | None = None
    eos: int | None = None
    eot: int | None = None
    eom: int | None = None
    unk: int | None = None
    sep: int | None = None
    pad: int | None = None
    mask: int | None = None
    fim_pre: int | None = None
    fim_suf: int | None = None
    fim_mid: int | None = None
    fim_pad: int | None = None
    fim_rep: int | None = None
    fim_sep: int | None = None


KEYS = {
    "bos": ("bos_token_id",),
    "eos": ("eos_token_id",),
    "eot": ("eot_token_id",),
    "eom": ("eom_token_id",),
    "unk": ("unknown_token_id",),
    "sep": ("seperator_token_id",),
    "pad": ("padding_token_id",),
    "mask": ("mask_token_id",),
    "fim_pre": ("fim_pre_token_id", "prefix_token_id"),
    "fim_suf": ("fim_suf_token_id", "suffix_token_id"),
    "fim_mid": ("fim_mid_token_id", "middle_token_id"),
    "fim_pad": ("fim_pad_token_id",),
    "fim_rep": ("fim_rep_token_id",),
    "fim_sep": ("fim_sep_token_id",),
}
# Texts that tell the part of a token that no key names; the first that the vocabulary has counts.
TEXTS = {
    "eot": (
        *("<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>", "<EOT>"),
        *("_<EOT>", "[EOT]", "<｜end▁of▁sentence｜>", "<end_of_utterance>"),
    ),
    "eom": ("<|eom_id|>",),
    "fim_pre": (
        *("<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>"),
        *("<|code_prefix|>", "<|prefix|>"),
    ),
    "fim_suf": (
        *("<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>"),
        *("<|code_suffix|>", "<|suffix|>"),
    ),
    "fim_mid": (
        *("<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>", "▁<MID>"),
        *("<|code_middle|>", "<|middle|>"),
    ),
    "fim_pad": ("<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"),
    "fim_rep": ("<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"),
    "fim_sep": ("<|file_sep|>",),
}
END_TEXTS = (
    *("<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>", "<end_of_turn>"),
    *("<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]", "<|end_of_text|>"),
    *("<end_of_utterance>", "<eos>", "<turn|>", "<|tool_response>", "<｜end▁of▁sentence｜>", "[e~["),
)
SHOWN_TEXTS = (
    "<|channel|>",
    "<|message|>",
    "<|start|>",
    "<|constrain|>",
)  # parts of gpt-oss answers that readers parse


def find_roles(metadata: Mapping[str, object], defaults: Roles, tokens: Tokens) -> Roles:
    """The parts as the keys tell them, else the defaults, else the texts; those found by text become control tokens."""
    roles = replace(defaults)
    for role, keys in KEYS.items():
        default = getattr(roles, role)
        if default is not None and default >= len(tokens):
            setattr(roles, role, None)
        for key in keys:
            id = metadata.get(f"tokenizer.ggml.{key}")
            if isinstance(id, int) and 0 <= id < len(tokens):
                setattr(roles, role, id)
            elif id is not None:
                logger.warning('"tokenizer.ggml.%s" is %r, no token of the vocabulary: ignored', key, id)
    for role, texts in TEXTS.items():
        if getattr(roles, role) is None:
            id = next((tokens.ids[text] for text in texts if text in tokens.ids), None)
            if id is not None:
                setattr(roles, role, id)
                tokens.kinds[id] |= CONTROL
    return roles


def find_ends(roles: Roles, tokens: Tokens) -> frozenset[int]:
    """The tokens that end a text; some kinds of tokens change by it, as in llama.cpp."""
    named = {text: tokens.ids[text] for text in END_TEXTS if text in tokens.ids}
    for id in named.values():
        tokens.kinds[id] |= CONTROL
    _show(tokens, SHOWN_TEXTS)
    parts = (roles.fim_pad, roles.fim_rep, roles.fim_sep, roles.eos, roles.eot, roles.eom)
    ends = {*named.values(), *(id for id in parts if id is not None)}
    texts = {tokens.texts[id] for id in ends}
    calls = bool({"<|call|>", "<|calls|>"} & texts)
    if calls and "<|end|>" in texts and ("<|return|>" in texts or "<|flush|>" in texts):
        ends.discard(tokens.ids["<|end|>"])  # there it only ends a part of the answer
        _show(tokens, ["<|end|>"])
    if "</s>" in texts and ("<|tool_response>" in texts or "<|plamo:eos|>" in texts):
        ends.discard(tokens.ids["</s>"])
        tokens.kinds[tokens.ids["</s>"]] = NORMAL
    return frozenset(ends)


def _show(tokens: Tokens, texts: Iterable[str]) -> None:
    for text in texts:
        if text in tokens.ids:
            tokens.kinds[tokens.ids[text]] = USER_DEFINED


def mark_strips(metadata: Mapping[str, object], tokens: Tokens, special: Iterable[int]) -> None:
    """Notes which special tokens take in the white space beside them: no key says it, only names of models."""
    pre, architecture, name = (
        str(metadata.get(key, "")) for key in ("tokenizer.ggml.pre", "general.architecture", "general.name")
    )
    if any(part in pre for part in ("jina-v2-de", "jina-v2-es", "jina-v2-code")) or any(
        part in architecture for part in ("nomic-bert-moe", "jina-bert-v3")
    ):
        _strip_left(tokens, "<mask>")
    elif "phi-3" in name.lower() or "phi3" in name.lower():
        kept = {tokens.ids.get(text) for text in ("<unk>", "<s>", "<|endoftext|>")}
        for id in special:
            if id not in kept:
                tokens.kinds[id] |= RSTRIP
    elif "modern-bert" in name.lower():
        _strip_left(tokens, "[MASK]")


def _strip_left(tokens: Tokens, text: str) -> None:
    if text in tokens.ids:
        tokens.kinds[tokens.ids[text]] |= LSTRIP
