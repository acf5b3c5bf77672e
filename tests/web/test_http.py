"""HTTP manners: errors in JSON, keys, CORS, bodies, methods, several services in one application."""

import io
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urljoin

import pytest
from flask import Flask
from flask.testing import FlaskClient

from llama.api.service import Service
from llama.errors import ModelFileError
from llama.settings import Settings
from llama.web import create_app, create_blueprint
from tests.web.conftest import MakeClient, MakeService

RELEASE = threading.Event()
POSTS = [
    "/v1/completions",
    "/v1/chat/completions",
    "/completion",
    "/infill",
    "/tokenize",
    "/v1/messages",
    "/v1/responses",
]


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b'{"a":',
        b"[]",
        b'"x"',
        b"null",
        b'{"prompt": NaN}',
        b'{"prompt": Infinity}',
        b'{"prompt": 1e999}',
        b'{"prompt": "\\ud800"}',
        b'{"prompt": "\xe9"}',
        b"{} {}",
        b'{"a":' * 100000,
        b'{"max_tokens": 1' + b"0" * 5000 + b"}",
    ],
)
def test_bodies_that_are_no_json_object(client: FlaskClient, path: str, body: bytes) -> None:
    response = client.post(path, data=body, content_type="application/json")
    assert response.status_code == 400
    error = response.get_json()["error"]
    assert (error["type"], error["code"]) == ("invalid_request_error", 400)
    assert error["message"]


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_the_content_type_does_not_matter(client: FlaskClient, kind: str | None) -> None:
    body = b'{"prompt": "' + b"x" * 600_000 + b'", "max_tokens": 1}'
    response = client.post("/v1/completions", data=body, content_type=kind)
    assert response.get_json()["error"]["type"] == "exceed_context_size_error"  # it was read


def test_a_bom_and_duplicate_keys_are_fine(client: FlaskClient) -> None:
    response = client.post("/v1/completions", data=b'\xef\xbb\xbf{"prompt": 5, "prompt": "x", "max_tokens": 1}')
    assert response.status_code == 200


def test_surrogate_pairs_and_nul_are_text(client: FlaskClient) -> None:
    response = client.post(
        "/v1/completions", data=b'{"prompt": "\\ud83d\\ude00 \\u0000", "max_tokens": 1, "echo": true}'
    )
    assert response.get_json()["choices"][0]["text"].startswith("\U0001f600 \x00")


def test_a_body_over_the_limit(make_client: MakeClient) -> None:
    client = make_client(max_body=1)
    response = client.post("/v1/completions", data=b" " * (1 << 20) + b"{}")
    assert response.status_code == 413
    assert "--max-body" in response.get_json()["error"]["message"]


def test_a_compressed_body(client: FlaskClient) -> None:
    response = client.post("/v1/completions", data=b"{}", headers={"Content-Encoding": "gzip"})
    assert response.status_code == 415
    assert response.get_json()["error"]["code"] == 415


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/nope"),
        ("GET", "/v1/completions"),
        ("POST", "/health"),
        ("PUT", "/v1/models"),
        ("GET", "/health/"),
        ("GET", "/v1"),
        ("DELETE", "/"),
        ("POST", "/v1/completions/"),
        ("GET", "/v1//health"),
        ("PATCH", "/x/y/z"),
    ],
)
def test_unknown_paths_and_methods_are_404_in_json(client: FlaskClient, method: str, path: str) -> None:
    response = client.open(path, method=method)
    assert response.status_code == 404
    error = response.get_json()["error"]
    assert (error["message"], error["type"], error["code"]) == ("File Not Found", "not_found_error", 404)


def test_head_is_get_without_a_body(client: FlaskClient) -> None:
    response = client.head("/health")
    assert (response.status_code, response.get_data()) == (200, b"")
    assert client.head("/nope").status_code == 404


def test_health(client: FlaskClient) -> None:
    assert client.get("/health").get_json() == client.get("/v1/health").get_json() == {"status": "ok"}
    assert client.get("/health").content_type == "application/json; charset=utf-8"


@pytest.mark.parametrize(
    "headers",
    [{"Authorization": "Bearer k2"}, {"Authorization": "bearer k2"}, {"Authorization": "k1"}, {"X-Api-Key": "k1"}],
)
def test_keys_that_open(make_client: MakeClient, headers: dict[str, str]) -> None:
    client = make_client(api_key=("k1", "k2"))
    assert client.get("/v1/models", headers=headers).status_code == 200
    assert client.post("/v1/completions", json={"prompt": "x", "max_tokens": 1}, headers=headers).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [{}, {"Authorization": "Bearer bad"}, {"Authorization": "Bearer"}, {"X-Api-Key": ""}, {"Authorization": "é"}],
)
def test_keys_that_do_not(make_client: MakeClient, headers: dict[str, str]) -> None:
    client = make_client(api_key=("k1", "k2"))
    for path in ("/v1/models", "/props", "/slots", "/nope", "/openapi.json"):
        response = client.get(path, headers=headers)
        assert response.status_code == 401
        error = response.get_json()["error"]
        assert (error["message"], error["type"], error["code"]) == ("Invalid API Key", "authentication_error", 401)
        assert response.headers["WWW-Authenticate"] == "Bearer"


def test_public_paths_need_no_key(make_client: MakeClient) -> None:
    client = make_client(api_key=("k1",))
    for path in ("/health", "/v1/health", "/"):
        assert client.get(path).status_code == 200
    assert client.options("/v1/chat/completions").status_code == 200


def test_cors_as_llama_server(make_client: MakeClient) -> None:
    client = make_client(api_key=("k",))
    for origin in ("localhost", "http://web.mydomain.fr"):
        headers = {"Origin": origin, "Access-Control-Request-Method": "POST"}
        response = client.options("/completions", headers=headers)
        assert response.status_code == 200
        assert response.headers["Access-Control-Allow-Origin"] == origin
        assert response.headers["Access-Control-Allow-Credentials"] == "true"
        assert response.headers["Access-Control-Allow-Methods"] == "GET, POST, DELETE, OPTIONS"
        assert response.headers["Access-Control-Allow-Headers"] == "*"
    for path in ("/v1/models", "/nope", "/health"):  # refused, unknown, fine
        assert client.get(path, headers={"Origin": "http://a.b"}).headers["Access-Control-Allow-Origin"] == "http://a.b"


def test_cors_of_listed_and_local_origins(make_client: MakeClient) -> None:
    client = make_client(cors_origins="http://a.b, http://c.d")
    assert (
        client.get("/health", headers={"Origin": "http://c.d"}).headers["Access-Control-Allow-Origin"] == "http://c.d"
    )
    assert "Access-Control-Allow-Origin" not in client.get("/health", headers={"Origin": "http://evil"}).headers
    client = make_client(cors_origins="localhost")
    for origin in ("http://localhost", "https://localhost:3000", "http://127.0.0.1:5173", "http://[::1]:80"):
        assert client.get("/health", headers={"Origin": origin}).headers["Access-Control-Allow-Origin"] == origin
    for origin in ("http://localhost.evil.com", "http://evil", "null"):
        assert "Access-Control-Allow-Origin" not in client.get("/health", headers={"Origin": origin}).headers


def never(settings: Settings) -> Any:
    """A loader that takes long and fails."""
    RELEASE.wait(10)
    raise ModelFileError("the file is broken")


def test_loading_is_503_everywhere() -> None:
    service = Service(Settings(model="nowhere.gguf"), load=never)
    client = create_app(service=service).test_client()
    for path in ("/health", "/v1/models", "/nope"):
        response = client.get(path)
        assert response.status_code == 503
        error = response.get_json()["error"]
        assert (error["message"], error["type"], error["code"]) == ("Loading model", "unavailable_error", 503)
        assert int(response.headers["Retry-After"]) >= 1
    assert client.post("/v1/completions", json={"prompt": "x"}).status_code == 503
    RELEASE.set()
    with pytest.raises(ModelFileError, match="broken"):
        service.wait_until_ready(10)
    assert "broken" in client.get("/health").get_json()["error"]["message"]
    service.close()


def test_the_index_page(make_client: MakeClient) -> None:
    assert make_client().get("/").mimetype == "text/html"
    assert make_client(ui=False).get("/").status_code == 404


def test_the_prefix_of_the_settings(make_client: MakeClient) -> None:
    client = make_client(api_prefix="/llm", api_key=("k",))
    assert client.get("/llm/health").status_code == 200
    assert client.get("/health").status_code == 404
    assert client.get("/llm/v1/models", headers={"X-Api-Key": "k"}).status_code == 200


def test_two_services_in_an_app_of_its_own_pages(make_service: MakeService) -> None:
    app = Flask(__name__)
    app.add_url_rule("/", view_func=lambda: "the host's page")
    app.register_blueprint(create_blueprint(make_service("one<|end|>", alias=("one",))), url_prefix="/a")
    app.register_blueprint(create_blueprint(make_service("two<|end|>", alias=("two",))), url_prefix="/b", name="b")
    client = app.test_client()
    for prefix, text in (("/a", "one"), ("/b", "two")):
        answer = client.post(f"{prefix}/v1/completions", json={"prompt": "x"}).get_json()
        assert answer["choices"][0]["text"] == answer["model"] == text
        assert client.get(f"{prefix}/nope").get_json()["error"]["code"] == 404
        page = client.get(f"{prefix}/").get_data(as_text=True)
        links = [urljoin(f"{prefix}/", link) for link in re.findall(r'href="(.*?)"', page)]
        assert links == [f"{prefix}/health", f"{prefix}/v1/models", f"{prefix}/openapi.json"]
        assert all(client.get(link).status_code == 200 and f">{link}</a>" in page for link in links)
    assert client.get("/").get_data() == b"the host's page"
    assert client.get("/nope").mimetype == "text/html"


def test_a_bug_is_a_500_that_tells_nothing(make_client: MakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    client = make_client()
    service = client.application.extensions["llama"].service

    def fail(*_: Any) -> None:
        raise ValueError("a secret")

    monkeypatch.setattr(service.engine, "submit", fail)
    response = client.post("/v1/completions", json={"prompt": "x"})
    assert response.status_code == 500
    assert "secret" not in response.get_data(as_text=True)
    assert response.get_json()["error"]["type"] == "server_error"


@pytest.mark.parametrize("path", ["/v1/completions", "/v1/chat/completions"])
def test_nobody_waits_for_a_body_that_comes_slowly(
    make_service: MakeService, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """An idle engine waits a moment for requests that are being made ready: not for those that are still on the way."""
    service = make_service()
    order = []
    body = json.dumps({"prompt": "x", "messages": [{"role": "user", "content": "x"}], "max_tokens": 2}).encode()

    @contextmanager
    def expecting() -> Iterator[None]:
        order.append("expected")
        yield

    class Wire:
        def __init__(self) -> None:
            self.left = io.BytesIO(body)

        def read(self, size: int = -1) -> bytes:
            order.append("read")
            return self.left.read(size)

    monkeypatch.setattr(service.engine, "expecting", expecting)
    client = create_app(service=service).test_client()
    answer = client.post(path, content_length=len(body), environ_overrides={"wsgi.input": Wire()})
    assert answer.status_code == 200
    assert order.count("expected") == 1
    assert order[-1] == "expected" != order[0]
