"""What gunicorn calls at the turns of its life."""

import logging
import platform
import socket
import struct
import sys
from typing import TYPE_CHECKING, Any

from llama.cli.current import settings
from llama.cli.log import set_up_log

if TYPE_CHECKING:
    from llama.web.app import Mounted

SILENCE = 60  # seconds without a byte, in the middle of a request, after which its connection is closed
# Python was not built with this number everywhere
SO_RCVTIMEO = getattr(socket, "SO_RCVTIMEO", 20 if platform.machine() in ("x86_64", "aarch64") else None)
ONE_WORKER = (
    "one worker per model: each would hold a copy of it. Raise -np or --threads-http instead; see docs/deploy.md"
)


def on_starting(server: Any) -> None:
    """Refuse more than one worker."""
    if server.cfg.workers != 1:
        raise SystemExit(f"error: {ONE_WORKER}")


def when_ready(server: Any) -> None:
    """Let nobody hold a thread by a request that he began to send and never ends.

    Connections have the option from the socket that accepts them, on Linux; elsewhere nothing changes.
    """
    if sys.platform != "linux" or SO_RCVTIMEO is None:
        return
    limit = struct.pack("ll", min(SILENCE, max(1, settings().timeout)), 0)
    for listener in server.LISTENERS:
        if listener.sock.family in (socket.AF_INET, socket.AF_INET6):
            listener.sock.setsockopt(socket.SOL_SOCKET, SO_RCVTIMEO, limit)


def post_fork(server: Any, worker: Any) -> None:
    """Set the log up in the worker."""
    set_up_log(settings())


def post_worker_init(worker: Any) -> None:
    """Load the model, and let streams know when the worker is told to stop."""
    from llama.cli.watch import watch_loading  # in the worker: it brings the whole engine

    worker.log.error_log.addFilter(_is_news)
    mounted: Mounted = worker.wsgi.extensions["llama"]
    mounted.lifecycle.stopping = lambda: not worker.alive
    watch_loading(mounted.service)


def _is_news(record: logging.LogRecord) -> bool:
    """False for the traceback of a client that was silent for too long."""
    return not (record.exc_info and isinstance(record.exc_info[1], BlockingIOError))


def worker_exit(server: Any, worker: Any) -> None:
    """Stop the engine: compiled code must not run while the interpreter goes away."""
    application = getattr(worker, "wsgi", None)
    if application is not None:
        application.extensions["llama"].service.close()
