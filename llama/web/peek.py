"""Is the client still there? Looks at the connection without taking anything from it."""

import os
import socket
import ssl
from collections.abc import Callable, Mapping
from typing import Any

SOCKET_KEYS = ("gunicorn.socket", "werkzeug.socket")
LOOK = getattr(socket, "MSG_PEEK", 0) | getattr(socket, "MSG_DONTWAIT", 0)


def connection_of(environ: Mapping[str, Any]) -> socket.socket | None:
    """The connection of this request, where the server tells it."""
    found = (environ.get(key) for key in SOCKET_KEYS)
    return next((connection for connection in found if isinstance(connection, socket.socket)), None)


def gone_check(environ: Mapping[str, Any]) -> Callable[[], bool]:
    """A function that says whether the client of this request has gone; where nobody can know, it says no."""
    disconnected = environ.get("waitress.client_disconnected")
    if callable(disconnected):
        return lambda: bool(disconnected())
    connection = connection_of(environ)
    return lambda: connection is not None and is_gone(connection)


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
