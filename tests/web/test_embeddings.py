"""Embeddings over HTTP, held against llama.cpp's own for the encoders of the zoo."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient

from llama.api.service import Service
from llama.settings import Settings
from llama.web import create_app
from tests.fakes import HashModel
from tests.models.zoo import zoo_model
from tests.web.conftest import MakeClient


@pytest.fixture(scope="module")
def bert(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FlaskClient, Any]]:
    """A client of the zoo's BERT, and the model with its references."""
    model = zoo_model("bert")
    path = model.write(tmp_path_factory.mktemp("zoo"))
    service = Service(Settings(model=str(path), alias=("bert",), kernels="numpy"))
    service.wait_until_ready(60)
    yield create_app(service=service).test_client(), model
    service.close()


def vectors(client: FlaskClient, **body: Any) -> Any:
    response = client.post("/v1/embeddings", json=body)
    assert response.status_code == 200, response.get_data(as_text=True)
    return response.get_json()


def test_the_vector_is_llama_cpps(bert: tuple[FlaskClient, Any]) -> None:
    client, model = bert
    answer = vectors(client, input=model.tokens, model="m")
    wanted = model.wanted["pooled"].reshape(-1)
    wanted = wanted / np.linalg.norm(wanted)
    found = np.array(answer["data"][0]["embedding"])
    assert ((found - wanted) ** 2).sum() < 1e-5
    assert (answer["object"], answer["model"]) == ("list", "m")
    assert answer["data"][0]["object"] == "embedding"
    assert answer["usage"] == {"prompt_tokens": len(model.tokens), "total_tokens": len(model.tokens)}


def test_shapes_of_input_and_encodings(bert: tuple[FlaskClient, Any]) -> None:
    client, _ = bert
    both = vectors(client, input=["hello", "world"])
    assert [item["index"] for item in both["data"]] == [0, 1]
    assert vectors(client, input="hello")["data"][0]["embedding"] == both["data"][0]["embedding"]
    packed = vectors(client, input="hello", encoding_format="base64")["data"][0]
    assert packed["encoding_format"] == "base64"
    raw = np.frombuffer(base64.b64decode(packed["embedding"]), "<f4")
    assert np.allclose(raw, both["data"][0]["embedding"])
    native = client.post("/embedding", json={"content": "hello"}).get_json()
    assert np.allclose(native[0]["embedding"][0], raw)


def test_norms(bert: tuple[FlaskClient, Any]) -> None:
    client, _ = bert
    raw = np.array(vectors(client, input="hello", embd_normalize=-1)["data"][0]["embedding"])
    for norm, size in ((1, np.abs(raw).sum()), (2, np.linalg.norm(raw)), (3, (np.abs(raw) ** 3).sum() ** (1 / 3))):
        found = vectors(client, input="hello", embd_normalize=norm)["data"][0]["embedding"]
        assert np.allclose(found, raw / size, atol=1e-6)
    largest = np.array(vectors(client, input="hello", embd_normalize=0)["data"][0]["embedding"])
    assert np.isclose(np.abs(largest).max(), 32760, rtol=1e-3)


@pytest.mark.parametrize(
    "body", [{}, {"input": []}, {"input": 5}, {"input": [[]]}, {"input": "x", "encoding_format": "hex"}]
)
def test_inputs_that_are_none(bert: tuple[FlaskClient, Any], body: dict[str, Any]) -> None:
    assert bert[0].post("/v1/embeddings", json=body).status_code == 400


def test_an_input_that_is_too_long(bert: tuple[FlaskClient, Any]) -> None:
    response = bert[0].post("/v1/embeddings", json={"input": "hello " * 5000})
    assert response.status_code == 400
    assert "too large" in response.get_json()["error"]["message"]


def test_an_encoder_does_not_generate(bert: tuple[FlaskClient, Any]) -> None:
    assert bert[0].post("/v1/completions", json={"prompt": "x"}).status_code == 501


def test_a_text_model_needs_the_flag(make_client: MakeClient) -> None:
    assert make_client(HashModel()).post("/v1/embeddings", json={"input": "x"}).status_code == 501
