"""Context shift: which tokens stay when the context is full."""

from llama.engine.request import Request

MARGIN = 4  # positions that are never kept, so that something can be dropped (as llama-server)


def shifted(request: Request, tokens: list[int], n_prompt: int, add_bos: bool) -> list[int]:
    """`tokens` without a stretch: the first `n_keep` (and BOS) stay, the next `n_discard`, or half the rest, go."""
    keep = (n_prompt if request.n_keep < 0 else request.n_keep) + add_bos
    keep = min(keep, len(tokens) - MARGIN)
    rest = len(tokens) - keep
    discard = min(request.n_discard or rest // 2, rest - 1)
    return tokens[:keep] + tokens[keep + discard :]
