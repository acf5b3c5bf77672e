"""The shapes a prompt may have, as token ids."""

from llama.api.json_text import shown
from llama.errors import InvalidRequest
from llama.tokenizer import Vocab

SHAPES = "a string, an array of token ids, an array mixing both, or an array of several of these"


def prompts(value: object, vocab: Vocab, *, add_special: bool = True, field: str = "prompt") -> list[list[int]]:
    """The token ids of every prompt that `value` holds. BOS is added to text at the beginning of a prompt only.

    Raises InvalidRequest for other shapes, for nothing at all, and for ids that the vocabulary does not have.
    """
    many = value if isinstance(value, list) and not _is_one(value) else [value]
    if not many:
        raise InvalidRequest(f'"{field}" must not be empty', field)
    found = [_one(item, vocab, add_special, field) for item in many]
    for ids in found:
        if not ids:
            raise InvalidRequest(f'"{field}" must not be empty: this model adds no token at the beginning', field)
    return found


def _is_one(items: list[object]) -> bool:
    """True if an array is one prompt: ids, perhaps with texts between them."""
    return any(isinstance(item, int) and not isinstance(item, bool) for item in items) and not any(
        isinstance(item, list) for item in items
    )


def _one(value: object, vocab: Vocab, add_special: bool, field: str) -> list[int]:
    if isinstance(value, str):
        return text_ids(value, vocab, add_special=add_special)
    if isinstance(value, dict):
        return _media(value, vocab, add_special, field)
    if not isinstance(value, list):
        raise InvalidRequest(f'"{field}" must be {SHAPES}, but holds {shown(value)}', field)
    if not value:
        raise InvalidRequest(f'"{field}" must not be empty', field)
    ids: list[int] = []
    for at, item in enumerate(value):
        if isinstance(item, str):
            ids += text_ids(item, vocab, add_special=add_special and at == 0)
        elif isinstance(item, int) and not isinstance(item, bool):
            ids.append(checked_id(item, vocab, field))
        else:
            raise InvalidRequest(f'"{field}" must be {SHAPES}, but holds {shown(item)} at {at}', field)
    return ids


def _media(value: dict[str, object], vocab: Vocab, add_special: bool, field: str) -> list[int]:
    text = value.get("prompt_string")
    if not isinstance(text, str):
        raise InvalidRequest(f'"{field}" given as an object needs a string "prompt_string"', field)
    if value.get("multimodal_data"):
        raise InvalidRequest("This model takes text only: leave multimodal_data out", field)
    return text_ids(text, vocab, add_special=add_special)


def text_ids(text: str, vocab: Vocab, *, add_special: bool = True) -> list[int]:
    """The ids of `text`, control tokens in it included; a BOS that the text already writes is not doubled."""
    ids = vocab.encode(text, add_special=add_special, parse_special=True)
    if vocab.bos is not None and ids[:2] == [vocab.bos, vocab.bos]:
        del ids[0]
    return ids


def checked_id(value: int, vocab: Vocab, field: str) -> int:
    """`value` if it is a token. Raises InvalidRequest."""
    if not 0 <= value < vocab.n_vocab:
        raise InvalidRequest(
            f'"{field}" contains invalid tokens: {shown(value)} is not between 0 and {vocab.n_vocab - 1}', field
        )
    return value
