"""What only a real process shows: clients that leave, signals, sockets, TLS, failures to load."""

import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.running import ROOT, free_port

GUNICORN = [sys.executable, "-m", "gunicorn", "-c", "gunicorn.conf.py", "tests.web.fake_server:application()"]
LONG = {"prompt": "x", "max_tokens": 2000}


OPEN: list[Any] = []  # connections and answers, closed after each test


class Connection(http.client.HTTPConnection):
    """A connection that is closed after the test, with its answer."""

    def getresponse(self) -> http.client.HTTPResponse:
        answer = super().getresponse()
        OPEN.extend((answer, self))
        return answer


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().close()


class Process:
    """gunicorn with the slow scripted model on a free port."""

    def __init__(self, log: Path, **settings: str) -> None:
        self.port = free_port()
        self.log = log
        env = {**os.environ, "LLAMA_ARG_PORT": str(self.port), "LLAMA_ARG_CTX_SIZE": "4096", **settings}
        with log.open("wb") as stream:
            self.process = subprocess.Popen(GUNICORN, cwd=ROOT, env=env, stdout=stream, stderr=subprocess.STDOUT)
        wait_for(self.is_up, 60)

    def is_up(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        try:
            return self.get("/health") == {"status": "ok"}
        except OSError:
            return False

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=20) as answer:
            return json.load(answer)

    def send(self, body: dict[str, Any], path: str = "/v1/completions", **headers: str) -> http.client.HTTPConnection:
        """A connection on which the request was sent; the answer is not read."""
        connection = Connection("127.0.0.1", self.port, timeout=30)
        connection.request("POST", path, json.dumps(body), headers)
        return connection

    def busy(self) -> int:
        return sum(slot["is_processing"] for slot in self.get("/slots"))

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(40)


def wait_for(condition: Callable[[], bool], seconds: float) -> float:
    """Seconds until the condition held."""
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < seconds, "waited too long"
        time.sleep(0.02)
    return time.monotonic() - begun


def abandon(connection: http.client.HTTPConnection) -> None:
    """Close the connection as a client does that ends: what it was still reading from included."""
    if connection.sock is not None:
        connection.sock.shutdown(socket.SHUT_RDWR)
    connection.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    process = Process(tmp_path_factory.mktemp("server") / "log", LLAMA_ARG_N_PARALLEL="2", LLAMA_ARG_KV_UNIFIED="1")
    yield process
    process.stop()


def test_a_stream_that_is_left_frees_its_slot(server: Process) -> None:
    connection = server.send({**LONG, "stream": True})
    answer = connection.getresponse()
    for _ in range(6):
        answer.readline()
    assert server.busy() == 1
    abandon(connection)
    answer.close()
    assert wait_for(lambda: server.busy() == 0, 5) < 2


def test_a_stream_of_a_conversation_survives_its_client(server: Process) -> None:
    connection = server.send({"prompt": "x", "max_tokens": 60, "stream": True}, **{"X-Conversation-Id": "c::m"})
    answer = connection.getresponse()
    begun = answer.readline() + answer.readline()
    abandon(connection)
    answer.close()
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/v1/stream?conv_id=c%3A%3Am&from={len(begun)}") as rest:
        frames = (begun + rest.read()).split(b"\n\n")
    assert frames[-2:] == [b"data: [DONE]", b""]
    texts = [json.loads(frame[6:])["choices"][0]["text"] for frame in frames[:-2]]
    assert "".join(texts) == "".join(f"w{number} " for number in range(60))
    again = Connection("127.0.0.1", server.port, timeout=30)
    again.request("DELETE", "/v1/stream?conv_id=c%3A%3Am")
    assert again.getresponse().status == 204
    assert server.busy() == 0


def test_a_whole_answer_that_is_left_frees_its_slot(server: Process) -> None:
    connection = server.send(LONG)
    wait_for(lambda: server.busy() == 1, 5)
    abandon(connection)
    assert wait_for(lambda: server.busy() == 0, 5) < 2


def test_a_long_prompt_that_is_left_frees_its_slot(server: Process) -> None:
    connection = server.send({"prompt": "y" * 3000, "stream": True})
    wait_for(lambda: server.busy() == 1, 5)
    abandon(connection)
    assert wait_for(lambda: server.busy() == 0, 8) < 6


def test_a_waiting_request_that_is_left_never_starts_and_hurts_nobody(server: Process) -> None:
    running = [server.send({"prompt": str(number), "max_tokens": 100}) for number in range(2)]
    wait_for(lambda: server.busy() == 2, 5)
    queued = server.send({"prompt": "queued", "max_tokens": 2000})
    wait_for(lambda: len(server.get("/v1/requests")["data"]) == 3, 5)
    abandon(queued)
    wait_for(lambda: len(server.get("/v1/requests")["data"]) <= 2, 5)
    for connection in running:
        body = json.load(connection.getresponse())
        assert body["usage"]["completion_tokens"] == 100
        assert body["choices"][0]["text"] == "".join(f"w{number} " for number in range(100))
    assert server.busy() == 0


def test_streams_run_side_by_side_and_arrive_as_they_are_made(server: Process) -> None:
    arrivals: list[list[float]] = [[], []]

    def read(number: int) -> None:
        answer = server.send({"prompt": str(number), "max_tokens": 30, "stream": True}).getresponse()
        while line := answer.readline():
            if line.startswith(b"data: "):
                arrivals[number].append(time.monotonic())

    threads = [threading.Thread(target=read, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    assert server.get("/health") == {"status": "ok"}
    for thread in threads:
        thread.join(30)
    for times in arrivals:
        assert len(times) == 32
        assert times[-1] - times[0] > 0.3, "came all at once"
    assert arrivals[0][0] < arrivals[1][-1]
    assert arrivals[1][0] < arrivals[0][-1]


def test_silence_is_filled_with_comments(server: Process) -> None:
    answer = server.send({"prompt": "z" * 900, "max_tokens": 1, "stream": True, "sse_ping_interval": 1}).getresponse()
    assert answer.read().count(b":\n\n") >= 2


def test_sigterm_lets_short_streams_finish(tmp_path: Path) -> None:
    process = Process(tmp_path / "log")
    connection = process.send({"prompt": "x", "max_tokens": 60, "stream": True})
    answer = connection.getresponse()
    answer.readline()
    process.process.send_signal(signal.SIGTERM)
    lines = [line for line in answer.read().split(b"\n\n") if line]
    assert lines[-1] == b"data: [DONE]"
    assert json.loads(lines[-2][6:])["choices"][0]["finish_reason"] == "length"
    assert process.process.wait(20) == 0


def test_sigterm_ends_long_streams_with_an_error_event(tmp_path: Path) -> None:
    process = Process(tmp_path / "log", LLAMA_ARG_GRACEFUL_TIMEOUT="3")
    stream = process.send({**LONG, "stream": True}).getresponse()
    stream.readline()
    whole = process.send(LONG)
    wait_for(lambda: process.busy() == 2, 5)
    process.process.send_signal(signal.SIGTERM)
    lines = [line for line in stream.read().split(b"\n\n") if line]
    assert lines[-1] == b"data: [DONE]"
    assert json.loads(lines[-2][6:])["error"]["type"] == "unavailable_error"
    answer = whole.getresponse()
    assert answer.status == 503
    assert process.process.wait(20) == 0


def test_a_full_queue_is_503_and_health_still_answers(tmp_path: Path) -> None:
    process = Process(tmp_path / "log", LLAMA_ARG_N_PARALLEL="1", LLAMA_ARG_QUEUE_LIMIT="1")
    connections = [process.send(LONG)]
    wait_for(lambda: process.busy() == 1, 5)
    connections.append(process.send(LONG))
    wait_for(lambda: len(process.get("/v1/requests")["data"]) == 2, 5)
    refused = process.send(LONG).getresponse()
    assert refused.status == 503
    assert int(refused.headers["Retry-After"]) >= 1
    assert process.get("/health") == {"status": "ok"}
    for connection in connections:
        abandon(connection)
    process.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="accepted connections have the listener's option on Linux only")
@pytest.mark.parametrize("begun", [b"POST /v1/compl", b"POST /v1/completions HTTP/1.1\r\nContent-Length: 99\r\n\r\n{"])
def test_requests_that_stop_in_the_middle_hold_no_thread_for_ever(tmp_path: Path, begun: bytes) -> None:
    process = Process(tmp_path / "log", LLAMA_ARG_THREADS_HTTP="9", LLAMA_ARG_TIMEOUT="1")
    stalled = [socket.create_connection(("127.0.0.1", process.port), 30) for _ in range(20)]
    for connection in stalled:
        connection.sendall(begun)
    for connection in stalled:
        while connection.recv(4096):  # an error or nothing, and then the end
            pass
        connection.close()
    assert process.get("/health") == {"status": "ok"}
    process.stop()
    assert b"Traceback" not in process.log.read_bytes()


def test_more_than_one_worker_is_refused() -> None:
    command = [*GUNICORN[:-1], "-w", "2", GUNICORN[-1]]
    env = {**os.environ, "LLAMA_ARG_PORT": str(free_port())}
    result = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60)
    assert result.returncode != 0
    assert "one worker per model" in result.stderr


def test_sockets_and_several_addresses(tmp_path: Path) -> None:
    path = tmp_path / "s.sock"
    process = Process(tmp_path / "log", LLAMA_ARG_HOST=f"127.0.0.1,::1,{path}")
    with urllib.request.urlopen(f"http://[::1]:{process.port}/health", timeout=5) as answer:
        assert json.load(answer) == {"status": "ok"}
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        client.sendall(b"GET /health HTTP/1.0\r\n\r\n")
        answer_bytes = b"".join(iter(lambda: client.recv(4096), b""))
    assert answer_bytes.endswith(b'{"status":"ok"}')
    process.stop()


def test_tls_and_leaving_under_tls(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    made = subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
            "-keyout",
            str(key),
            "-out",
            str(certificate),
        ],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("openssl is not there to make a certificate")
    context = ssl.create_default_context(cafile=str(certificate))
    context.check_hostname = False
    settings = {"LLAMA_ARG_SSL_KEY_FILE": str(key), "LLAMA_ARG_SSL_CERT_FILE": str(certificate)}
    process = Process.__new__(Process)
    process.port, process.log = free_port(), tmp_path / "log"
    env = {**os.environ, "LLAMA_ARG_PORT": str(process.port), **settings}
    with process.log.open("wb") as stream:
        process.process = subprocess.Popen(GUNICORN, cwd=ROOT, env=env, stdout=stream, stderr=subprocess.STDOUT)

    def get(path: str) -> Any:
        with urllib.request.urlopen(f"https://127.0.0.1:{process.port}{path}", timeout=5, context=context) as answer:
            return json.load(answer)

    def up() -> bool:
        try:
            return bool(get("/health")["status"] == "ok")
        except OSError:
            return False

    wait_for(up, 60)
    connection = http.client.HTTPSConnection("127.0.0.1", process.port, timeout=10, context=context)
    connection.request("POST", "/v1/completions", json.dumps(LONG))
    wait_for(lambda: any(slot["is_processing"] for slot in get("/slots")), 5)
    abandon(connection)
    assert wait_for(lambda: not any(slot["is_processing"] for slot in get("/slots")), 5) < 2
    process.stop()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-m", "nowhere.gguf"], "no model file"),
        (["-m", "app.py"], "error:"),
        (["--ctx-sizes", "5"], "did you mean --ctx-size?"),
        (["--chat-template", "nonsense", "-m", "STORIES"], "--chat-template"),
    ],
)
def test_what_cannot_start_ends_with_1_and_says_why(arguments: list[str], said: str, shared: Path) -> None:
    arguments = [str(shared / "models" / "stories260K.gguf") if a == "STORIES" else a for a in arguments]
    command = [sys.executable, "app.py", "--port", str(free_port()), *arguments]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert result.returncode == 1
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_help_may_be_cut_short() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "app.py", "--help"]
    result = subprocess.run(command, cwd=ROOT, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writer)
    assert not result.stderr


def test_help_version_and_architectures() -> None:
    for flag, said in (("--help", "--ctx-size"), ("--version", "0."), ("--list-architectures", "llama")):
        result = subprocess.run([sys.executable, "app.py", flag], cwd=ROOT, capture_output=True, text=True, timeout=60)
        assert result.returncode == 0
        assert said in result.stdout
