"""The application that `gunicorn -c gunicorn.conf.py` serves, with its settings from the environment."""

from flask import Flask

from llama.cli.current import settings
from llama.web import create_app


def application() -> Flask:
    """Our application."""
    return create_app(settings())
