"""Runs the application: under gunicorn with our gunicorn.conf.py, on Windows under waitress.

The application is imported in the worker only: gunicorn's arbiter then stays small.
"""

import os
import runpy
import sys
from pathlib import Path
from typing import Any

from llama.cli.address import binds, refused
from llama.cli.current import use
from llama.settings import Settings

CONFIG = Path(__file__).resolve().parents[2] / "gunicorn.conf.py"


def options(settings: Settings) -> dict[str, Any]:
    """What of gunicorn's configuration follows from our settings."""
    return {
        "bind": binds(settings),
        "threads": settings.n_http_threads,
        "graceful_timeout": settings.graceful_timeout,
        "reuse_port": settings.reuse_port,
        "certfile": settings.ssl_cert_file,
        "keyfile": settings.ssl_key_file,
    }


def serve(settings: Settings) -> int:
    """Serve until told to stop; the exit code of the process."""
    use(settings)
    if sys.platform == "win32":
        return _waitress(settings)
    return _gunicorn(settings)


def _gunicorn(settings: Settings) -> int:
    from gunicorn.app.base import BaseApplication

    class Server(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
        def load_config(self) -> None:
            given = {**runpy.run_path(str(CONFIG)), **options(settings)}
            for key, value in given.items():
                if key in self.cfg.settings and key != "wsgi_app":
                    self.cfg.set(key, value)

        def load(self) -> Any:
            from llama.web import create_app

            return create_app(settings)

    try:
        Server().run()
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        elif end.code == 1:  # also what gunicorn says when it cannot listen, after five tries and without a remedy
            for reason in refused(settings):
                print(f"error: {reason}", file=sys.stderr)
        return 0 if end.code in (None, 0) else 1
    return 0


def _waitress(settings: Settings) -> int:
    import waitress

    from llama.cli.watch import watch_loading
    from llama.web import create_app

    app = create_app(settings)
    watch_loading(app.extensions["llama"].service)
    waitress.serve(app, listen=" ".join(binds(settings)), threads=settings.n_http_threads)
    os._exit(0)
