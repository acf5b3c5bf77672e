"""A client of our Flask application on a model that says a script."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient

from llama.api.parts import parts_of
from llama.api.service import Service
from llama.settings import Settings
from llama.web import create_app
from tests.fakes import HistoryModel, ScriptedModel, loaded

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

MakeService = Callable[..., Service]
MakeClient = Callable[..., FlaskClient]


@pytest.fixture
def make_service() -> Iterator[MakeService]:
    """Makes ready services of scripts or models, with settings; they are closed afterwards."""
    made: list[Service] = []

    def make(script: Any = " in a small village<|end|>", template: str = CHATML, **settings: Any) -> Service:
        model = script if isinstance(script, HistoryModel) else ScriptedModel(script)
        options = {"ctx_size": 4096, "alias": ("fake",), **settings}
        chosen = Settings(**options)
        parts = parts_of(chosen, loaded(model), {"tokenizer.chat_template": template})
        service = Service.from_parts(parts, chosen)
        made.append(service)
        service.wait_until_ready(10)
        return service

    yield make
    for service in made:
        service.close()


@pytest.fixture
def make_client(make_service: MakeService) -> MakeClient:
    """Makes clients of our application, with the arguments of `make_service`."""

    def make(script: Any = " in a small village<|end|>", **settings: Any) -> FlaskClient:
        return create_app(service=make_service(script, **settings)).test_client()

    return make


@pytest.fixture
def client(make_client: MakeClient) -> FlaskClient:
    """A client of a model that says " in a small village" after any prompt."""
    return make_client()
