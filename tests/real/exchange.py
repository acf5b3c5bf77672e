"""An HTTP exchange that can be left at any moment, and what a server is busy with meanwhile."""

import http.client
import json
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

from tests.running import RunningServer


class Exchange:
    """A POST that has been sent. Read its events one by one, or leave."""

    def __init__(self, server: RunningServer, path: str, body: dict[str, Any]) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
        self._connection.request("POST", path, json.dumps(body))
        self._response: http.client.HTTPResponse | None = None

    @property
    def response(self) -> http.client.HTTPResponse:
        """The answer, once its headers are there."""
        if self._response is None:
            self._response = self._connection.getresponse()
        return self._response

    def events(self) -> Iterator[Any]:
        """The events of a stream as they come, the closing "[DONE]" as a string."""
        for line in self.response:
            if line.startswith(b"data: "):
                text = line[6:].strip()
                yield "[DONE]" if text == b"[DONE]" else json.loads(text)

    def body(self) -> Any:
        """The whole answer as JSON."""
        return json.loads(self.response.read())

    def leave(self) -> None:
        """Close the connection, whatever is still to come."""
        if self._connection.sock is not None:
            self._connection.sock.shutdown(socket.SHUT_RDWR)
        if self._response is not None:
            self._response.close()
        self._connection.close()

    def __enter__(self) -> "Exchange":
        return self

    def __exit__(self, *_: object) -> None:
        if self._response is not None:
            self._response.close()
        self._connection.close()


def busy(server: RunningServer) -> list[dict[str, Any]]:
    """The slots that work on something."""
    return [slot for slot in server.get("/slots") if slot["is_processing"]]


def seconds_until(condition: Callable[[], bool], limit: float = 30.0) -> float:
    """How long `condition` took to become true; fails after `limit` seconds."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < limit, f"not within {limit} s"
        time.sleep(0.01)
    return time.monotonic() - start
