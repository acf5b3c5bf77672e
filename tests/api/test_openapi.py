"""The OpenAPI document is complete, and the generated documentation is current."""

import re
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.wrappers import Response

from llama.api.openapi import OPERATIONS
from llama.cli.docs import TARGET, page
from llama.web.routes import ROUTES
from tests.web.conftest import client, make_client, make_service  # noqa: F401 - fixtures

NAME = re.compile(r"<(?:\w+:)?(\w+)>")


def test_every_route_is_documented() -> None:
    routes = {(route.method.lower(), NAME.sub(r"{\1}", path)) for route in ROUTES for path in route.paths}
    documented = {(operation.method, path) for operation in OPERATIONS for path in operation.paths}
    assert routes - {("get", "/")} == documented


def test_the_document(client: FlaskClient) -> None:  # noqa: F811
    document = client.get("/openapi.json").get_json()
    assert document["openapi"] == "3.1.0"
    schema = document["paths"]["/v1/completions"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert schema["required"] == ["prompt"]
    assert {"max_tokens", "top_p", "mirostat", "grammar", "json_schema", "suffix"} <= schema["properties"].keys()


def test_the_page_of_settings_is_current() -> None:
    assert Path(TARGET).read_text() == page(), "run `make docs`"


@pytest.mark.parametrize("seed", range(3))
def test_answers_are_as_documented(make_client: Any, seed: int) -> None:  # noqa: F811
    """schemathesis makes requests from the document and checks answers against it."""
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, given, settings
    from hypothesis import seed as seeded

    application = make_client("ab<|end|>", ctx_size=64, n_predict=2, max_choices=4).application
    schema = schemathesis.openapi.from_wsgi("/openapi.json", application)
    for result in list(schema.get_all_operations())[seed::3]:
        operation = result.ok()

        @seeded(seed)
        @given(case=operation.as_strategy())
        @settings(max_examples=8, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        def check(case: Any) -> None:
            answer: Response = case.call()
            assert answer.status_code != 500, (case.path, case.body)
            case.validate_response(
                answer,
                checks=[
                    schemathesis.checks.status_code_conformance,
                    schemathesis.checks.content_type_conformance,
                    schemathesis.checks.response_schema_conformance,
                ],
            )

        check()
