"""The forms in which a request may bias logits, as pairs of token and bias."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from llama.tokenizer import Vocab


def token_biases(value: Mapping[str, Any] | Iterable[Any], vocab: Vocab) -> tuple[tuple[int, float], ...]:
    """Pairs of token id and bias. A text biases each of its tokens; what names no token is left out.

    `{"15043": 1.5, "hello": -100}` or `[[15043, 1.5], ["hello", false], ...]`; false forbids the token.
    """
    pairs: list[tuple[int, float]] = []
    items = [(_id_or_text(key), bias) for key, bias in value.items()] if isinstance(value, Mapping) else value
    for item in items:
        if isinstance(item, Mapping):
            item = (item.get("token"), item.get("bias"))
        if not isinstance(item, list | tuple) or len(item) != 2:
            continue
        key, bias = item
        amount = _amount(bias)
        if amount is not None:
            pairs += [(token, amount) for token in _tokens(key, vocab)]
    return tuple(pairs)


def _amount(bias: object) -> float | None:
    if bias is False:
        return -math.inf
    if isinstance(bias, bool) or not isinstance(bias, int | float):
        return None
    try:
        return float(bias)
    except OverflowError:
        return None


def _tokens(key: object, vocab: Vocab) -> list[int]:
    if isinstance(key, str):
        return vocab.encode(key, add_special=False, parse_special=False)
    if isinstance(key, int) and not isinstance(key, bool) and 0 <= key < vocab.n_vocab:
        return [key]
    return []


def _id_or_text(key: str) -> int | str:
    """An object's key: all digits, it is an id."""
    return int(key) if key.isascii() and key.isdigit() and len(key) < 10 else key
