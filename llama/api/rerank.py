"""/rerank: documents by how well they answer a query, by models with a rank head."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from llama.api.embeddings import check_sizes, embed
from llama.api.guard import GUARD, guarded_text
from llama.api.parse import switch, whole_number
from llama.api.parts import Parts
from llama.api.service import Service
from llama.errors import InvalidRequest, NotSupported
from llama.tokenizer import Vocab

Body = Mapping[str, Any]
TEMPLATE = "tokenizer.chat_template.rerank"
PLACES = re.compile(r"\{query\}|\{document\}")


def rerank(service: Service, body: Body) -> Any:
    """Jina's answer, or TEI's list when the documents come as `texts`. Raises InvalidRequest, NotSupported."""
    if not service.settings.rerank:
        raise NotSupported("This server does not support reranking. Start it with `--reranking`")
    query = body.get("query")
    if not isinstance(query, str):
        raise InvalidRequest('"query" must be provided, as a string', "query")
    tei = body.get("documents") is None and body.get("texts") is not None
    documents = _documents(body, "texts" if tei else "documents")
    inputs = [rerank_prompt(service.parts, query, document) for document in documents]
    check_sizes(service, inputs, "texts" if tei else "documents")
    scores = [float(vector[0]) for vector in embed(service, inputs, normalize=-1)]
    best = sorted(range(len(documents)), key=lambda at: scores[at], reverse=True)
    best = best[: max(0, whole_number(body, "top_n", len(documents), 0))]
    if tei:
        with_text = switch(body, "return_text", False)
        return [{"index": at, "score": scores[at], **({"text": documents[at]} if with_text else {})} for at in best]
    n_tokens = sum(map(len, inputs))
    return {
        "model": body.get("model") or service.model_id,
        "object": "list",
        "usage": {"prompt_tokens": n_tokens, "total_tokens": n_tokens},
        "results": [{"index": at, "relevance_score": scores[at]} for at in best],
    }


def _documents(body: Body, name: str) -> list[str]:
    found = body.get(name)
    if not isinstance(found, list) or not found or not all(isinstance(item, str) for item in found):
        raise InvalidRequest(f'"{name}" must be a non-empty array of strings', name)
    return found


def rerank_prompt(parts: Parts, query: str, document: str) -> list[int]:
    """What the model reads of a pair: made of its file's own template for that, else the two texts side by side."""
    template = parts.metadata.get(TEMPLATE)
    if not isinstance(template, str):
        return pair(parts.vocab, query, document)
    texts = {"{query}": query, "{document}": document}
    prompt = PLACES.sub(lambda place: guarded_text(texts[place.group()], parts.controls), template)
    return parts.vocab.encode(prompt, add_special=False, parse_special=True, guard=GUARD)


def pair(vocab: Vocab, query: str, document: str) -> list[int]:
    """`[BOS] query [EOS] [SEP] document [EOS]`, as rerankers were trained on, with the tokens that the model adds."""

    def some(token: int | None, wanted: bool) -> Sequence[int]:
        return [token] if token is not None and wanted else []

    eos = vocab.eos if vocab.eos is not None else vocab.sep
    ids = [*some(vocab.bos, vocab.add_bos), *_plain(vocab, query), *some(eos, vocab.add_eos)]
    ids += [*some(vocab.sep, vocab.add_sep), *_plain(vocab, document), *some(eos, vocab.add_eos)]
    return ids


def _plain(vocab: Vocab, text: str) -> list[int]:
    return vocab.encode(text, add_special=False, parse_special=False)
