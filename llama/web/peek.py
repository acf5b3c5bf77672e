"""Is the client still there? Looks at the connection without taking anything from it."""

import os
import socket
import ssl
from collections.abc import Callable, Mapping
from typing import Any

SOCKET_KEYS = ("gunicorn.socket", "werkzeug.socket")
LOOK = getattr(socket, "MSG_PEEK", 0) | getattr(socket, "MSG_DONTWAIT", 0)


def gone_check(environ: Mapping[str, Any]) -> Callable[[], bool]:
    """A function that says whether the client of this request has gone; where nobody can know, it says no."""
    disconnected = environ.get("waitress.client_disconnected")
    if callable(disconnected):
        return lambda: bool(disconnected())
    for key in SOCKET_KEYS:
        connection = environ.get(key)
        if isinstance(connection, socket.socket):
            return lambda: is_gone(connection)
    return lambda: False


def is_gone(connection: socket.socket) -> bool:
    """True if the peer has closed. A byte that waits is a pipelined request; under TLS it is the goodbye."""
    try:
        duplicate = socket.socket(fileno=os.dup(connection.fileno()))
    except OSError:
        return True
    with duplicate:
        try:
            waiting = duplicate.recv(1, LOOK)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            return True
    return waiting == b"" or isinstance(connection, ssl.SSLSocket)
