"""Whatever is in a body: an answer or an error that names the field, never a 500, never a hang."""

import json
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llama.api.field import Field
from llama.api.openapi import OPERATIONS, Operation
from llama.api.parts import parts_of
from llama.api.service import Service
from llama.settings import Settings
from llama.web import create_app
from tests.fakes import ScriptedModel, loaded
from tests.web.conftest import CHATML

WITH_FIELDS = [operation for operation in OPERATIONS if operation.fields is not None]
NEEDED: dict[str, Any] = {
    "prompt": "x",
    "messages": [{"role": "user", "content": "x"}],
    "input": "x",
    "query": "x",
    "input_prefix": "x",
    "input_suffix": "y",
}
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-5, 300)
    | st.sampled_from([2**31, -(2**31), 2**63, -(2**64), 10**30, 1e308, -0.5, 0.5, 1.5, -1e300])
    | st.text(max_size=8)
    | st.sampled_from(["auto", "none", "json_object", "root ::= [a-z]+", "<|im_end|>", "\x00", "\U0001f600", "user"])
)
KEYS = st.sampled_from(["type", "role", "content", "text", "name", "function", "schema", "json_schema", "id", "value"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=4), inner, max_size=4),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def fuzzed() -> Any:
    """A client of a small model with short texts, for many quick requests."""
    chosen = Settings(ctx_size=64, n_predict=3, alias=("fake",), max_choices=8, metrics=True, props=True)
    parts = parts_of(chosen, loaded(ScriptedModel("ab\ncd<|end|>")), {"tokenizer.chat_template": CHATML})
    service = Service.from_parts(parts, chosen)
    service.wait_until_ready(10)
    yield create_app(service=service).test_client()
    service.close()


def send(client: FlaskClient, operation: Operation, body: Any) -> Any:
    """The answer; checked for what must hold whatever was sent."""
    path = operation.paths[0].replace("{id}", "0")
    response = client.open(
        path, method=operation.method.upper(), data=json.dumps(body), query_string={"action": "save"}
    )
    data = response.get_data()
    assert response.status_code != 500, (path, body)
    if response.status_code != 200:
        error = json.loads(data)["error"] if "error" in json.loads(data) else json.loads(data)
        assert error["message"], (path, body)
    elif response.mimetype == "application/json":
        json.loads(data)
    assert b"server_error" not in data, (path, body)
    return response


def base(operation: Operation) -> dict[str, Any]:
    return {name: NEEDED[name] for name in operation.required}


FIELDS = [(operation, field) for operation in WITH_FIELDS for field in operation.fields or ()]
WRONG: list[Any] = [None, True, -7, 1e300, 10**40, "hot", "", [], [[]], [None], {}, {"a": [1]}, "x" * 300, [1, "a", {}]]


@pytest.mark.parametrize(("operation", "field"), FIELDS, ids=[f"{o.paths[0]}:{f.name}" for o, f in FIELDS])
def test_every_field_with_every_kind_of_value(fuzzed: FlaskClient, operation: Operation, field: Field) -> None:
    for value in WRONG:
        for name in (field.name, *field.aliases):
            send(fuzzed, operation, {**base(operation), name: value})


TYPED = {
    "integer": ["hot", [], {}, True],
    "number": ["hot", [], {}, True],
    "boolean": ["yes", 1, [], {}],
    "string": [1, [], {}, True],
}


@pytest.mark.parametrize(("operation", "field"), FIELDS, ids=[f"{o.paths[0]}:{f.name}" for o, f in FIELDS])
def test_a_wrong_type_is_400_and_names_the_field(fuzzed: FlaskClient, operation: Operation, field: Field) -> None:
    kind = field.kind.schema.get("type")
    if operation.paths[0] not in ("/v1/completions", "/v1/chat/completions", "/completion", "/infill"):
        pytest.skip("translated or small bodies are read field by field elsewhere")
    for value in TYPED.get(kind or "", []):
        response = send(fuzzed, operation, {**base(operation), field.name: value})
        assert response.status_code == 400, (field.name, value)
        assert response.get_json()["error"]["param"] == field.name
        assert field.name in response.get_json()["error"]["message"]


@pytest.mark.parametrize("operation", WITH_FIELDS, ids=lambda o: o.paths[0])
def test_null_in_every_field_is_absent(fuzzed: FlaskClient, operation: Operation) -> None:
    nulls = {name: None for field in operation.fields or () for name in (field.name, *field.aliases)}
    with_nulls = send(fuzzed, operation, {**nulls, **base(operation)})
    assert with_nulls.status_code == send(fuzzed, operation, base(operation)).status_code


@pytest.mark.parametrize("operation", WITH_FIELDS, ids=lambda o: o.paths[0])
def test_unknown_fields_are_ignored(fuzzed: FlaskClient, operation: Operation) -> None:
    extra = {"logit_bis": [1], "": {}, "best-of": "x", "__class__": None}
    assert (
        send(fuzzed, operation, base(operation) | extra).status_code
        == send(fuzzed, operation, base(operation)).status_code
    )


@pytest.mark.parametrize("operation", WITH_FIELDS, ids=lambda o: o.paths[0])
@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_values_together(fuzzed: FlaskClient, operation: Operation, data: st.DataObject) -> None:
    names = [name for field in operation.fields or () for name in (field.name, *field.aliases)]
    if not names:
        return
    body = data.draw(st.dictionaries(st.sampled_from(names), VALUES, max_size=4))
    send(fuzzed, operation, base(operation) | body)


@given(body=VALUES)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_json_as_the_body(fuzzed: FlaskClient, body: Any) -> None:
    for operation in WITH_FIELDS[:3]:
        send(fuzzed, operation, body)


@given(raw=st.binary(max_size=40))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_as_the_body(fuzzed: FlaskClient, raw: bytes) -> None:
    assert fuzzed.post("/v1/completions", data=raw).status_code == 400
