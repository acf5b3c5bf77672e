"""/v1/embeddings and /embedding: texts become vectors."""

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llama.api.parse import embedding_inputs, whole_number
from llama.api.prompt import prompts
from llama.api.service import Service
from llama.errors import ContextOverflow, InvalidRequest, NotSupported
from llama.models.pooling import pool

Body = Mapping[str, Any]
Floats = NDArray[np.float32]
LARGEST_INT16 = 32760.0


def openai_embeddings(service: Service, body: Body) -> dict[str, Any]:
    """OpenAI's list of embeddings, one for each input. Raises InvalidRequest, NotSupported."""
    _require(service)
    encoding = body.get("encoding_format") or "float"
    if encoding not in ("float", "base64"):
        raise InvalidRequest("The format to return the embeddings in. Can be either float or base64", "encoding_format")
    if _pooling(service) == "none":
        raise InvalidRequest("Pooling type 'none' is not OAI compatible. Please use a different pooling type", "input")
    inputs = _inputs(service, body)
    vectors = embed(service, inputs, normalize=_normalize(service, body))
    data = []
    for index, vector in enumerate(vectors):
        item: dict[str, Any] = {"embedding": _encoded(vector, encoding), "index": index, "object": "embedding"}
        data.append({**item, "encoding_format": "base64"} if encoding == "base64" else item)
    n_tokens = sum(map(len, inputs))
    return {
        "model": body.get("model") or service.model_id,
        "object": "list",
        "usage": {"prompt_tokens": n_tokens, "total_tokens": n_tokens},
        "data": data,
    }


def native_embeddings(service: Service, body: Body) -> list[dict[str, Any]]:
    """llama-server's list: a matrix for each input, of one row unless nothing is pooled."""
    _require(service)
    inputs = _inputs(service, body)
    vectors = embed(service, inputs, normalize=_normalize(service, body))
    return [{"index": index, "embedding": np.atleast_2d(vector).tolist()} for index, vector in enumerate(vectors)]


def embed(service: Service, inputs: list[list[int]], *, normalize: int) -> list[Floats]:
    """A vector for each input, or without pooling a matrix (T, n_embd)."""
    kind, model = _pooling(service), service.parts.model
    hidden = service.engine.embed(inputs, service.parts.adapters.scales(()))
    if kind == "none":
        return hidden
    return [normalized(pool(rows, kind, model.head), normalize) for rows in hidden]


def _require(service: Service) -> None:
    """Raise NotSupported unless embeddings are served."""
    settings = service.settings
    if not (settings.embeddings or settings.rerank or service.parts.model.is_encoder):
        raise NotSupported("This server does not support embeddings. Start it with `--embeddings`")


def _pooling(service: Service) -> str:
    kind = "rank" if service.settings.rerank else service.settings.pooling or service.parts.model.hparams.pooling
    return str(kind) if kind else "mean" if service.parts.model.is_encoder else "last"


def _inputs(service: Service, body: Body) -> list[list[int]]:
    value = embedding_inputs(body)
    found = prompts(value, service.parts.vocab, field="input")
    check_sizes(service, found, "input")
    return found


def check_sizes(service: Service, inputs: list[list[int]], field: str) -> None:
    """Raise InvalidRequest, naming `field`, if an input is longer than can be read: encoders read it all at once."""
    at_once, n_ctx = service.settings.batch_size, service.n_ctx
    for ids in inputs:
        if service.parts.model.is_encoder and len(ids) > at_once:
            raise InvalidRequest(
                f"input ({len(ids)} tokens) is too large to process. increase the physical batch size "
                f"(current batch size: {at_once})",
                field,
            )
        if len(ids) > n_ctx:
            raise ContextOverflow(len(ids), n_ctx)


def _normalize(service: Service, body: Body) -> int:
    return whole_number(body, "embd_normalize", service.settings.embd_normalize)


def normalized(vector: Floats, norm: int) -> Floats:
    """`vector` over its norm: -1 none, 0 largest value = 32760, 1 sum, 2 Euclid, above that the p-norm."""
    if norm < 0:
        return vector
    size = np.abs(vector).astype(np.float64)
    length = size.max(initial=0.0) / LARGEST_INT16 if norm == 0 else (size**norm).sum() ** (1 / norm)
    return (vector / length if length > 0 else np.zeros_like(vector)).astype(np.float32)


def _encoded(vector: Floats, encoding: str) -> list[float] | str:
    if encoding == "base64":
        return base64.b64encode(vector.astype("<f4").tobytes()).decode()
    found: list[float] = vector.tolist()
    return found
