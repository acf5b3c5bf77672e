"""Vertex AI's form of asking: several requests in one."""

from typing import Any

import pytest
from flask.testing import FlaskClient

from llama.cli.address import binds
from llama.settings import Settings, read_settings
from llama.web.vertex import TARGETS, format_name
from tests.web.conftest import MakeClient

MODE = {"aip_mode": "PREDICTION"}
CHAT = {"@requestFormat": "chatCompletions", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 3}
TEXT = {"@requestFormat": "completions", "prompt": "Once", "max_tokens": 3}


@pytest.fixture
def vertex(make_client: MakeClient) -> FlaskClient:
    """A client of a server that was started by Vertex AI."""
    return make_client(parallel=2, **MODE)


def predictions(client: FlaskClient, *instances: Any) -> Any:
    answer = client.post("/predict", json={"instances": instances, "parameters": {}})
    assert answer.status_code == 200
    body = answer.get_json()
    assert body.keys() == {"predictions"}
    return body["predictions"]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/v1/chat/completions", "chatCompletions"),
        ("/chat/completions", "chatCompletions"),
        ("/apply-template", "applyTemplate"),
        ("/v1/chat/completions/input_tokens", "chatCompletionsInputTokens"),
        ("/v1/messages/count_tokens", "messagesCountTokens"),
        ("/infill", "infill"),
        ("/v1/embeddings", "embeddings"),
    ],
)
def test_names_of_paths(path: str, name: str) -> None:
    assert format_name(path) == name
    assert TARGETS[name].method == "POST"


def test_each_instance_is_answered_as_its_endpoint_would(vertex: FlaskClient) -> None:
    template = {"@requestFormat": "applyTemplate", "messages": CHAT["messages"]}
    tokens = {"@requestFormat": "/tokenize", "content": "ab"}
    found = predictions(vertex, CHAT, TEXT, template, tokens, {**TEXT, "@requestFormat": "/completion"})
    assert found[0]["object"] == "chat.completion"
    assert found[0]["choices"][0]["message"] == {"role": "assistant", "content": " in"}
    assert (found[1]["object"], found[1]["choices"][0]["text"]) == ("text_completion", " in")
    assert found[2] == vertex.post("/apply-template", json=template).get_json()
    assert found[3] == {"tokens": [97, 98]}
    assert (found[4]["content"], found[4]["stop_type"]) == (" in", "limit")


def test_many_in_their_order(vertex: FlaskClient) -> None:
    found = predictions(vertex, *({**TEXT, "max_tokens": 1 + number % 7} for number in range(128)))
    assert [answer["usage"]["completion_tokens"] for answer in found] == [1 + number % 7 for number in range(128)]
    assert predictions(vertex) == []


def test_streams_are_whole_answers(vertex: FlaskClient) -> None:
    [found] = predictions(vertex, {**CHAT, "stream": True})
    assert found["choices"][0]["message"]["content"] == " in"


def test_what_fails_has_an_error_in_its_place(vertex: FlaskClient) -> None:
    bad = [
        ({**TEXT, "temperature": "x"}, 400),
        ({"@requestFormat": "embeddings", "input": "x"}, 501),
        ({"@requestFormat": "nonsense"}, 400),
        ({"prompt": "x"}, 400),
        ({"@requestFormat": 5}, 400),
        ({"@requestFormat": "loraAdapters"}, 400),
        ("x", 400),
    ]
    found = predictions(vertex, *(instance for instance, _ in bad), TEXT)
    assert [answer["error"]["code"] for answer in found[:-1]] == [code for _, code in bad]
    assert found[-1]["choices"][0]["text"] == " in"


@pytest.mark.parametrize("body", [{}, {"instances": None}, {"instances": {}}, {"instances": [TEXT] * 129}])
def test_bodies_that_are_refused(vertex: FlaskClient, body: dict[str, Any]) -> None:
    answer = vertex.post("/predict", json=body)
    assert (answer.status_code, answer.get_json()["error"]["param"]) == (400, "instances")


def test_only_vertex_ai_gets_it(make_client: MakeClient) -> None:
    client = make_client()
    assert client.post("/predict", json={"instances": [TEXT]}).status_code == 404
    assert "/predict" not in client.get("/openapi.json").get_json()["paths"]


def test_a_server_that_stops_ends_predictions_when_its_grace_is_over(make_client: MakeClient) -> None:
    client = make_client("x" * 3000, graceful_timeout=0, **MODE)
    client.application.extensions["llama"].lifecycle.stopping = lambda: True
    (answer,) = predictions(client, {**TEXT, "max_tokens": 2900})
    assert answer["error"]["code"] == 503


def test_paths_of_its_own_and_the_key(make_client: MakeClient) -> None:
    options = {**MODE, "aip_predict_route": "/v1/endpoints/1:predict", "aip_health_route": "ping"}
    client = make_client(**options, api_key=("secret",))
    assert client.get("/ping").get_json() == {"status": "ok"}
    assert client.post("/v1/endpoints/1:predict", json={"instances": [TEXT]}).status_code == 401
    headers = {"Authorization": "Bearer secret"}
    assert client.post("/v1/endpoints/1:predict", json={"instances": [TEXT]}, headers=headers).status_code == 200
    assert client.post("/predict", json={}, headers=headers).status_code == 404
    paths = client.get("/openapi.json", headers=headers).get_json()["paths"]
    assert {"/ping", "/v1/endpoints/1:predict"} <= paths.keys()


def test_the_variables_of_a_container() -> None:
    variables = {"AIP_MODE": "PREDICTION", "AIP_HTTP_PORT": "9000", "AIP_PREDICT_ROUTE": "p", "AIP_HEALTH_ROUTE": "/h"}
    settings = read_settings(["--port", "8081"], variables)
    assert (settings.predict_path, settings.predict_health_path) == ("/p", "/h")
    assert binds(settings) == ["127.0.0.1:9000"]
    elsewhere = read_settings(["--port", "8081"], {**variables, "AIP_MODE": "TRAINING"})
    assert (elsewhere.predict_path, elsewhere.predict_health_path) == (None, None)
    assert binds(elsewhere) == ["127.0.0.1:8081"]
    assert Settings(aip_mode="PREDICTION").predict_path == "/predict"
