"""/tokenize, /detokenize and /tokenizer_info, in llama-server's shapes and in vLLM's."""

from collections.abc import Mapping
from typing import Any

from llama.api.parse import items, switch
from llama.api.prompt import checked_id
from llama.api.service import Service
from llama.errors import InvalidRequest
from llama.tokenizer import Vocab

Body = Mapping[str, Any]


def tokenize(service: Service, body: Body) -> dict[str, Any]:
    """The token ids of `content`, or in vLLM's form of `prompt`. Raises InvalidRequest."""
    vocab = service.parts.vocab
    content = body.get("content")
    vllm = content is None and body.get("prompt") is not None
    default = vllm  # vLLM adds special tokens unless told not to, llama-server only when told to
    special = switch(body, "add_special", switch(body, "add_special_tokens", default))
    parse = switch(body, "parse_special", True)
    name = "prompt" if vllm else "content"
    tokens = _ids(vocab, body[name] if vllm else content, special, parse, name)
    answer: dict[str, Any] = {"tokens": tokens}
    if switch(body, "with_pieces", False):
        answer["tokens"] = [{"id": token, "piece": _piece(vocab, token)} for token in tokens]
    if vllm:
        answer |= {"count": len(tokens), "max_model_len": service.n_ctx}
        if switch(body, "return_token_strs", False):
            answer["token_strs"] = [vocab.text(token) for token in tokens]
    return answer


def _ids(vocab: Vocab, content: object, special: bool, parse: bool, name: str) -> list[int]:
    if content is None:
        return []
    if isinstance(content, str):
        return vocab.encode(content, add_special=special, parse_special=parse)
    if not isinstance(content, list):
        raise InvalidRequest(f'"{name}" must be a string or an array of strings and token ids', name)
    ids: list[int] = []
    for at, item in enumerate(content):
        if isinstance(item, str):
            ids += vocab.encode(item, add_special=special and at == 0, parse_special=parse)
        elif isinstance(item, int) and not isinstance(item, bool):
            ids.append(checked_id(item, vocab, name))
        else:
            raise InvalidRequest(f'"{name}" must hold strings and token ids only', name)
    return ids


def _piece(vocab: Vocab, token: int) -> str | list[int]:
    piece = vocab.piece(token, special=True)
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return list(piece)


def detokenize(service: Service, body: Body) -> dict[str, Any]:
    """The text of `tokens`, under llama-server's name and under vLLM's. Raises InvalidRequest."""
    vocab = service.parts.vocab
    tokens = items(body, "tokens")
    for token in tokens:
        if isinstance(token, bool) or not isinstance(token, int):
            raise InvalidRequest('"tokens" must be an array of token ids', "tokens")
    text = vocab.decode([checked_id(token, vocab, "tokens") for token in tokens], special=True)
    return {"content": text, "prompt": text}


def tokenizer_info(service: Service, body: Body, query: Mapping[str, str]) -> dict[str, Any]:
    """What lm-eval asks of a remote tokenizer."""
    parts = service.parts
    vocab = parts.vocab

    def text(token: int | None) -> str | None:
        return None if token is None else vocab.text(token)

    return {
        "tokenizer_class": f"gguf-{vocab.type}",
        "bos_token": text(vocab.bos),
        "eos_token": text(vocab.eos),
        "pad_token": text(vocab.pad),
        "unk_token": text(vocab.unk),
        "add_bos_token": vocab.add_bos,
        "add_eos_token": vocab.add_eos,
        "vocab_size": vocab.n_vocab,
        "model_max_length": service.n_ctx,
        "chat_template": parts.templates.source,
    }
