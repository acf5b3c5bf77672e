"""This package turns HTTP into calls of the API, and its answers into HTTP. Only it and `cli` know Flask."""

from llama.web.app import create_app
from llama.web.blueprint import create_blueprint

__all__ = ["create_app", "create_blueprint"]
