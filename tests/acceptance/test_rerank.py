"""Reranking. The scores and counts that are expected here were recorded from llama-server on the same files."""

from typing import Any

import pytest

from tests.acceptance.conftest import Host
from tests.acceptance.hosting import Hosted
from tests.acceptance.models import bert_reranker, qwen_reranker

TEMPLATE = "<s>Query: {query}\nDocument: {document}\nAnswer:</s>"
PATHS = ("/rerank", "/reranking", "/v1/rerank", "/v1/reranking")
QUERY = "machine learning is"
DOCUMENTS = [
    "a machine is a physical system",
    "learning is the process of acquiring",
    "machine learning is a field of study",
    "paris, capitale de la france",
]
BERT = [(0, 0.439568), (2, 0.396037), (3, 0.377198), (1, 0.372223)]
QWEN = [(0, 0.962716), (3, 0.955159), (1, 0.940607), (2, 0.926372)]


@pytest.fixture(scope="module")
def bert(host: Host, tmp_path_factory: pytest.TempPathFactory, shared: object) -> Hosted:
    """A BERT with a classifier of two layers."""
    path = bert_reranker(tmp_path_factory.mktemp("rerank") / "bert.gguf")
    return host("--rerank", "-np", "2", "--alias", "bert", preset=False, model=path)


@pytest.fixture(scope="module")
def qwen(host: Host, tmp_path_factory: pytest.TempPathFactory, shared: object) -> Hosted:
    """A Qwen3 whose file says how the pair is put to it."""
    path = qwen_reranker(tmp_path_factory.mktemp("rerank") / "qwen.gguf", TEMPLATE)
    return host("--reranking", preset=False, model=path)


def ranked(answer: Any) -> list[tuple[int, float]]:
    return [(item["index"], item["relevance_score"]) for item in answer["results"]]


def close(wanted: list[tuple[int, float]]) -> list[Any]:
    return [(index, pytest.approx(score, abs=4e-4)) for index, score in wanted]


@pytest.mark.parametrize("path", PATHS)
def test_jinas_form(bert: Hosted, path: str) -> None:
    answer = bert.ok(path, {"query": QUERY, "documents": DOCUMENTS})
    assert ranked(answer) == close(BERT)
    assert answer.keys() == {"model", "object", "usage", "results"}
    assert (answer["model"], answer["object"]) == ("bert", "list")
    assert answer["usage"] == {"prompt_tokens": 167, "total_tokens": 167}
    assert all(item.keys() == {"index", "relevance_score"} for item in answer["results"])


@pytest.mark.parametrize("path", PATHS)
def test_teis_form(bert: Hosted, path: str) -> None:
    answer = bert.ok(path, {"query": QUERY, "texts": DOCUMENTS})
    assert [(item["index"], item["score"]) for item in answer] == close(BERT)
    assert all(item.keys() == {"index", "score"} for item in answer)
    with_texts = bert.ok(path, {"query": QUERY, "texts": DOCUMENTS, "return_text": True, "top_n": 2})
    assert with_texts == [{**item, "text": DOCUMENTS[item["index"]]} for item in answer[:2]]


def test_a_model_with_a_template_for_pairs(qwen: Hosted) -> None:
    answer = qwen.ok("/rerank", {"query": QUERY, "documents": DOCUMENTS, "model": "m"})
    assert ranked(answer) == close(QWEN)
    assert answer["model"] == "m"
    assert answer["usage"]["prompt_tokens"] == 293
    assert ranked(qwen.ok("/rerank", {"query": "", "documents": ["", "a"]})) == close([(0, 0.960419), (1, 0.953017)])


def test_what_stands_in_texts_is_text(qwen: Hosted) -> None:
    """llama-server reads control tokens in both, and puts the document into a query that says {document}."""
    for text in ("</s>", "{query}", "{document}", "<s>"):
        n_shown = len(qwen.ok("/tokenize", {"content": f"Query: {text}\n", "parse_special": False})["tokens"])
        n_blank = len(qwen.ok("/tokenize", {"content": "Query: \n", "parse_special": False})["tokens"])
        empty = qwen.ok("/rerank", {"query": "", "documents": [""]})["usage"]["prompt_tokens"]
        for body in ({"query": text, "documents": [""]}, {"query": "", "documents": [text]}):
            assert qwen.ok("/rerank", body)["usage"]["prompt_tokens"] == empty + n_shown - n_blank


def test_scores_do_not_depend_on_the_company(bert: Hosted, qwen: Hosted) -> None:
    for client in (bert, qwen):
        together = dict(ranked(client.ok("/rerank", {"query": QUERY, "documents": DOCUMENTS * 5})))
        for index, document in enumerate(DOCUMENTS):
            alone = client.ok("/rerank", {"query": QUERY, "documents": [document]})["results"][0]["relevance_score"]
            # numpy rounds a row by its place in a batch; compiled kernels give the same bits
            assert [together[index + shift] for shift in range(0, 20, 4)] == [pytest.approx(alone, abs=5e-6)] * 5


@pytest.mark.parametrize(("top_n", "n"), [(None, 4), (0, 0), (2, 2), (4, 4), (99, 4)])
def test_top_n(bert: Hosted, top_n: int | None, n: int) -> None:
    body = {"query": QUERY, "top_n": top_n}
    assert ranked(bert.ok("/rerank", {**body, "documents": DOCUMENTS})) == close(BERT[:n])
    assert [item["index"] for item in bert.ok("/rerank", {**body, "texts": DOCUMENTS})] == [at for at, _ in BERT[:n]]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"query": QUERY}, "documents"),
        *(
            ({"query": QUERY, "documents": bad}, "documents")
            for bad in ([], None, 123, "x", {}, [1, 2, 3], ["a", None])
        ),
        *(({"query": QUERY, "texts": bad}, "texts") for bad in ([], 123, "x", [1], [{"text": "a"}])),
        ({"documents": DOCUMENTS}, "query"),
        *(({"query": bad, "documents": DOCUMENTS}, "query") for bad in (None, 5, ["a"], {})),
        *(({"query": QUERY, "documents": DOCUMENTS, "top_n": bad}, "top_n") for bad in (-1, "2", [])),
        ({"query": QUERY, "texts": DOCUMENTS, "return_text": "yes"}, "return_text"),
    ],
)
def test_bad_input(bert: Hosted, body: dict[str, Any], param: str) -> None:
    error = bert.post("/rerank", body).error
    assert (error["code"], error["type"], error["param"]) == (400, "invalid_request_error", param)


def test_a_pair_that_is_too_long(bert: Hosted, qwen: Hosted) -> None:
    error = bert.post("/rerank", {"query": QUERY, "documents": ["b", "a " * 3000]}).error
    assert (error["code"], error["param"]) == (400, "documents")
    assert "too large to process" in error["message"]
    for client, n_tokens, n_ctx in ((bert, 217, 128), (qwen, 944, 512)):
        body = {"query": QUERY, "documents": ["b", "a " * (200 if client is bert else 900)]}
        error = client.post("/rerank", body).error
        assert (error["code"], error["type"]) == (400, "exceed_context_size_error")
        assert (error["n_prompt_tokens"], error["n_ctx"]) == (n_tokens, n_ctx)


def test_without_the_flag_and_without_the_head(host: Host) -> None:
    body = {"query": QUERY, "documents": DOCUMENTS}
    for path in PATHS:
        error = host("-n", "24", preset=False).post(path, body).error
        assert (error["code"], error["type"]) == (501, "not_supported_error")
        assert error["message"] == "This server does not support reranking. Start it with `--reranking`"
    error = host("--rerank", preset=False).post("/rerank", body).error
    assert (error["code"], error["message"]) == (501, "this model has no classifier, so it cannot rank")
