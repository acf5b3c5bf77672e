"""/v1/models: the one model that is served, in OpenAI's shape and in Ollama's."""

import time
from collections.abc import Mapping
from typing import Any

from llama.api.service import Service
from llama.errors import NotFound

VOCAB_TYPES = {"none": 0, "spm": 1, "bpe": 2, "wpm": 3, "ugm": 4, "rwkv": 5}  # llama.cpp's numbers

Body = Mapping[str, Any]
Query = Mapping[str, str]


def list_models(service: Service, body: Body, query: Query) -> dict[str, Any]:
    """The list with the model in it."""
    about = service.parts.description
    entry = {
        "name": service.model_id,
        "model": service.model_id,
        "modified_at": "",
        "size": "",
        "digest": "",
        "type": "model",
        "description": "",
        "tags": list(service.settings.tags) or [""],
        "capabilities": ["embedding"] if service.parts.model.is_encoder else ["completion"],
        "parameters": "",
        "details": {
            "parent_model": "",
            "format": "gguf",
            "family": about.architecture,
            "families": [about.architecture],
            "parameter_size": "",
            "quantization_level": about.file_type,
        },
    }
    return {"models": [entry], "object": "list", "data": [_model(service)]}


def get_model(service: Service, body: Body, query: Query) -> dict[str, Any]:
    """The model, asked for by one of its names. Raises NotFound."""
    name = str(body["id"])
    if name not in service.names:
        raise NotFound(f"The model {name!r} does not exist; this server has {', '.join(service.names)}", "model")
    return _model(service)


def _model(service: Service) -> dict[str, Any]:
    parts = service.parts
    about, model, vocab = parts.description, parts.model, parts.vocab
    return {
        "id": service.model_id,
        "aliases": list(service.names) if service.settings.alias else [],
        "tags": list(service.settings.tags),
        "object": "model",
        "created": int(time.time()),
        "owned_by": "llamacpp",
        "meta": {
            "vocab_type": VOCAB_TYPES.get(vocab.type, 0),
            "n_vocab": vocab.n_vocab,
            "n_ctx": service.n_ctx,
            "n_ctx_train": model.n_ctx_train,
            "n_embd": model.n_embd,
            "n_params": about.n_params,
            "size": about.size,
            "ftype": about.file_type,
        },
    }
