"""Fill in the middle: a prompt out of what stands before and after the gap, in the model's own tokens."""

from collections.abc import Sequence

from llama.api.call import InfillCall
from llama.errors import NotSupported
from llama.tokenizer import Vocab

SNIPPET = "\n\n--- snippet ---\n\n"


def require_infill(vocab: Vocab) -> tuple[int, int, int]:
    """The tokens for prefix, suffix and middle. Raises NotSupported, naming those that the model lacks."""
    tokens = {"prefix": vocab.fim_pre, "suffix": vocab.fim_suf, "middle": vocab.fim_mid}
    missing = " ".join(f"{name} token is missing." for name, token in tokens.items() if token is None)
    if vocab.fim_pre is None or vocab.fim_suf is None or vocab.fim_mid is None:
        raise NotSupported(f"Infill is not supported by this model: {missing}")
    return vocab.fim_pre, vocab.fim_suf, vocab.fim_mid


def gap(vocab: Vocab, prefix: Sequence[int], suffix: Sequence[int], *, suffix_first: bool) -> list[int]:
    """`[BOS] PRE prefix SUF suffix MID`, or with `suffix_first` `[BOS] SUF suffix PRE prefix MID`."""
    pre, suf, mid = require_infill(vocab)
    bos = [vocab.bos] if vocab.add_bos and vocab.bos is not None else []
    before, after = [pre, *prefix], [suf, *suffix]
    return [*bos, *(after + before if suffix_first else before + after), mid]


def suffix_prompt(vocab: Vocab, prompt: Sequence[int], suffix: str, *, suffix_first: bool) -> list[int]:
    """The prompt of /v1/completions with a suffix."""
    ids = list(prompt)
    if vocab.add_bos and ids[:1] == [vocab.bos]:
        del ids[0]
    return gap(vocab, ids, plain(vocab, suffix), suffix_first=suffix_first)


def infill_prompt(
    vocab: Vocab, call: InfillCall, *, n_batch: int, n_ctx: int, n_predict: int, suffix_first: bool
) -> list[int]:
    """The prompt of /infill. Prefix, suffix and other files are cut so that they fit the batch and the context.

    `n_predict` is the server's own, as llama-server counts; what it would leave no room for at all is cut further.
    """
    require_infill(vocab)
    added = vocab.encode(call.prompt, add_special=False, parse_special=True)
    prefix = plain(vocab, call.prefix)
    suffix = plain(vocab, call.suffix)
    prefix_room = 3 * (n_batch // 4)
    suffix_room = max(0, n_batch // 4 - (2 + len(added)))
    prefix = prefix[max(0, len(prefix) - prefix_room) :] + added
    near = gap(vocab, prefix, suffix[:suffix_room], suffix_first=suffix_first)
    extra = _extra(vocab, call.extra)
    extra_room = min(n_ctx - n_batch - 2 * n_predict, n_ctx - len(near) - max(1, call.call.n_predict))
    return extra[max(0, len(extra) - max(0, extra_room)) :] + near


def _extra(vocab: Vocab, chunks: Sequence[tuple[str | None, str]]) -> list[int]:
    """Other files of the repository, with the model's tokens for them where it has any."""
    ids: list[int] = []
    if vocab.fim_rep is not None:
        ids += [vocab.fim_rep, *plain(vocab, "myproject\n")]
    for name, text in chunks:
        if vocab.fim_sep is not None:
            ids += [vocab.fim_sep, *plain(vocab, f"{'tmp' if name is None else name}\n")]
        else:
            ids += plain(vocab, SNIPPET)
        ids += plain(vocab, text)
    if vocab.fim_sep is not None:
        ids += [vocab.fim_sep, *plain(vocab, "filename\n")]
    return ids


def plain(vocab: Vocab, text: str) -> list[int]:
    """Ids of user text: no tokens around it, and no control tokens read in it."""
    return vocab.encode(text, add_special=False, parse_special=False)
