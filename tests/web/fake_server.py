"""A server of a slow scripted model, for tests of what only a real process shows."""

from flask import Flask

from llama.api.parts import parts_of
from llama.api.service import Service
from llama.cli.current import settings
from llama.web import create_app
from tests.fakes import ScriptedModel, loaded
from tests.web.conftest import CHATML


def application() -> Flask:
    """An application whose model says "w0 w1 w2 ...", a word every 20 ms, after a prompt that takes 5 ms a token."""
    model = ScriptedModel([f"w{number} " for number in range(3000)], delay=0.015, token_delay=0.005, n_ctx_train=8192)
    parts = parts_of(settings(), loaded(model), {"tokenizer.chat_template": CHATML})
    return create_app(service=Service.from_parts(parts, settings()))
