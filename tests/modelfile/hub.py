"""A stand-in for the model hub: one repository over HTTP on this machine, with ranges, errors and broken downloads."""

import hashlib
import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class StandInHub:
    """Serves `files` of `repo`, to those who know the token if there is one; cuts some downloads short."""

    def __init__(
        self, repo: str, files: Mapping[str, bytes], *, token: str | None = None, gated: bool = False, breaks: int = 0
    ) -> None:
        self.repo, self.files, self.token, self.gated = repo, dict(files), token, gated
        self.breaks, self.break_after = breaks, 0  # so many downloads are cut after so many bytes
        self.requests: list[tuple[str, str, str | None]] = []  # method, path, range
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hub.answer(self)

            def do_HEAD(self) -> None:
                hub.answer(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "StandInHub":
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path = unquote(urlsplit(request.path).path)
        self.requests.append((request.command, path, request.headers.get("Range")))
        if self.token and request.headers.get("Authorization") != f"Bearer {self.token}":
            code = "GatedRepo" if self.gated else "RepoNotFound"
            self._send(request, 403 if self.gated else 401, b"{}", {"X-Error-Code": code})
        elif path == f"/api/models/{self.repo}":
            self._json(request, {"id": self.repo, "sha": COMMIT, "siblings": [{"rfilename": f} for f in self.files]})
        elif path == f"/api/models/{self.repo}/tree/{COMMIT}":
            self._json(request, [self._entry(name) for name in self.files])
        elif path.startswith(f"/{self.repo}/resolve/{COMMIT}/"):
            self._file(request, path.split("/", 5)[5])
        else:
            self._send(request, 404, b"{}", {"X-Error-Code": "RepoNotFound"})

    def _entry(self, name: str) -> dict[str, object]:
        data = self.files[name]
        lfs = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
        return {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest(), "lfs": lfs}

    def _file(self, request: BaseHTTPRequestHandler, name: str) -> None:
        data = self.files[name]
        headers = {"ETag": f'"{hashlib.sha256(data).hexdigest()}"', "X-Repo-Commit": COMMIT, "Accept-Ranges": "bytes"}
        wanted = request.headers.get("Range")
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        n = len(data) - start
        if self.breaks and n > self.break_after and request.command == "GET":
            self.breaks -= 1
            n = self.break_after
        self._send(request, 206 if start else 200, data[start:], headers, n)

    def _json(self, request: BaseHTTPRequestHandler, value: object) -> None:
        self._send(request, 200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _send(
        self,
        request: BaseHTTPRequestHandler,
        status: int,
        body: bytes,
        headers: Mapping[str, str],
        n: int | None = None,
    ) -> None:
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(body[:n])

    def ranges(self) -> list[str | None]:
        """The ranges of all downloads so far."""
        return [wanted for method, path, wanted in self.requests if method == "GET" and "/resolve/" in path]
