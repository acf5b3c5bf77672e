"""Our own Flask application: one service under its prefix, JSON for everything outside."""

from flask import Flask, Response
from werkzeug.exceptions import HTTPException

from llama.api.service import Service
from llama.errors import NotFound
from llama.settings import Settings
from llama.web.blueprint import create_blueprint
from llama.web.errors import error_body
from llama.web.lifecycle import Lifecycle
from llama.web.streaming import json_response


def create_app(settings: Settings | None = None, *, service: Service | None = None) -> Flask:
    """An application that serves the model of `settings`, or `service`. The model loads with the first request, or
    when whoever runs the application calls `app.extensions["llama"].service.ensure_started()`."""
    service = service or Service(settings or Settings())
    app = Flask(__name__, static_folder=None)
    app.url_map.merge_slashes = False  # //health is another path, not a redirect
    lifecycle = Lifecycle(service.settings.graceful_timeout)
    app.extensions["llama"] = Mounted(service, lifecycle)
    app.register_blueprint(
        create_blueprint(service, lifecycle=lifecycle), url_prefix=service.settings.api_prefix or None
    )
    app.register_error_handler(HTTPException, lambda error: _unknown())
    return app


class Mounted:
    """What runs inside an application: for hooks of the server that runs it."""

    def __init__(self, service: Service, lifecycle: Lifecycle) -> None:
        self.service = service
        self.lifecycle = lifecycle


def _unknown() -> Response:
    error = NotFound("File Not Found")
    return json_response(error_body(error), 404)
