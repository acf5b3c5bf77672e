"""A real server in a process of its own, for tests that look from outside."""

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


class RunningServer:
    """`python app.py` with the given arguments on a free port of 127.0.0.1; a context manager.

    Another `command` must listen on `port` by itself.
    """

    def __init__(
        self,
        log: Path,
        *arguments: str,
        command: Sequence[str] = (),
        port: int = 0,
        env: dict[str, str] | None = None,
        wait: bool = True,
    ) -> None:
        self.port = port or free_port()
        self.base = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.base}"
        self.log = log
        self._stream = log.open("wb")
        command = list(command) or [sys.executable, "app.py", "--port", str(self.port), *arguments]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=self._stream, stderr=subprocess.STDOUT, env=env)
        if wait:
            try:
                self.wait_until_ready()
            except BaseException:
                self.close()
                raise

    def wait_until_ready(self, seconds: float = 120.0) -> None:
        """Return when /health says ok; fail with the log when the process ends or time is up."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.url}/health", timeout=5):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        raise AssertionError(f"server not ready:\n{self.log.read_text(errors='replace')[-4000:]}")

    def post(self, path: str, body: Any, headers: dict[str, str] | None = None) -> Any:
        """The JSON answer to a POST; an error status raises urllib.error.HTTPError."""
        request = urllib.request.Request(f"{self.url}{path}", json.dumps(body).encode(), headers or {})
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)

    def get(self, path: str) -> Any:
        """The JSON answer to a GET."""
        with urllib.request.urlopen(f"{self.url}{path}", timeout=30) as answer:
            return json.load(answer)

    def stream(self, path: str, body: Any) -> list[Any]:
        """The JSON events of a stream, in order, the closing "[DONE]" as a string."""
        request = urllib.request.Request(f"{self.url}{path}", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=120) as answer:
            lines = [line[6:].strip() for line in answer if line.startswith(b"data: ")]
        return [line.decode() if line == b"[DONE]" else json.loads(line) for line in lines]

    def close(self) -> None:
        """End the server as a service manager would."""
        self.process.terminate()
        try:
            self.process.wait(40)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._stream.close()

    def __enter__(self) -> "RunningServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
