"""Servers on real sockets for tests that look from outside, and a client that hides nothing."""

import http.client
import json
import threading
from dataclasses import dataclass
from typing import Any

from werkzeug.serving import WSGIRequestHandler, make_server

from llama.api.service import Service
from llama.settings import read_settings
from llama.web import create_app

Json = Any


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back."""

    status: int
    headers: http.client.HTTPMessage
    raw: bytes

    @property
    def json(self) -> Json:
        """The body as JSON."""
        return json.loads(self.raw)

    @property
    def error(self) -> Json:
        """The error object of a refusal; a 2xx or a body of another shape fails the test."""
        assert self.status >= 400, self.raw
        return self.json["error"]

    @property
    def events(self) -> list[Json]:
        """The events of a stream, the closing "[DONE]" as a string. The framing is checked."""
        assert self.status == 200, self.raw
        assert self.headers["Content-Type"].startswith("text/event-stream")
        assert self.raw.endswith(b"\n\n")
        frames = [frame for frame in self.raw.decode().split("\n\n")[:-1] if frame != ":"]
        assert all(frame.startswith("data: ") and "\n" not in frame for frame in frames), frames
        return [frame[6:] if frame == "data: [DONE]" else json.loads(frame[6:]) for frame in frames]


class Client:
    """Sends requests to 127.0.0.1:port."""

    def __init__(self, port: int) -> None:
        self.port = port

    def ask(
        self,
        method: str,
        path: str,
        body: Json = None,
        *,
        raw: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Reply:
        """One exchange on a connection of its own. `raw` is sent as it is, `body` as JSON."""
        data = raw if raw is not None else None if body is None else json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, data, headers or {})
            answer = connection.getresponse()
            return Reply(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def post(self, path: str, body: Json, **headers: str) -> Reply:
        """A POST of JSON."""
        return self.ask("POST", path, body, headers=headers)

    def get(self, path: str, **headers: str) -> Reply:
        """A GET."""
        return self.ask("GET", path, headers=headers)

    def ok(self, path: str, body: Json) -> Json:
        """The JSON of a POST that must succeed."""
        reply = self.post(path, body)
        assert reply.status == 200, reply.raw
        return reply.json

    def stream(self, path: str, body: Json) -> list[Json]:
        """The events of a POST that streams."""
        return self.post(path, {**body, "stream": True}).events


class Quiet(WSGIRequestHandler):
    """A handler that keeps connections and writes no log."""

    protocol_version = "HTTP/1.1"

    def log(self, type: str, message: str, *args: object) -> None:
        """Nothing."""


class Hosted(Client):
    """Our application with the settings of a command line, on a port of its own, in a thread of this process."""

    def __init__(self, *arguments: str) -> None:
        self.service = Service(read_settings([*arguments, "--kernels", "numpy"], {}))
        self.service.wait_until_ready(60)
        self._server = make_server(
            "127.0.0.1", 0, create_app(service=self.service), threaded=True, request_handler=Quiet
        )
        self._server.daemon_threads = True
        super().__init__(self._server.server_port)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving."""
        self.service.close()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)
