"""The end of a connection is told at once, not looked for."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from werkzeug.serving import make_server

from llama.web import create_app
from llama.web.departures import Departures
from tests.fakes import HashModel
from tests.web.conftest import MakeService

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """A connection: ours, and that of the client."""
    ours, theirs = socket.socketpair()
    yield ours, theirs
    ours.close()
    theirs.close()


def test_leaving_is_told_without_being_asked(pair: Pair) -> None:
    told = threading.Event()
    Departures().watch(pair[0], told.set)
    assert not told.is_set()
    pair[1].close()
    assert told.wait(10)


def test_who_has_left_already_is_told_too(pair: Pair) -> None:
    told = threading.Event()
    pair[1].close()
    Departures().watch(pair[0], told.set)
    assert told.wait(10)


def test_a_next_request_is_no_departure_and_stays_to_be_read(pair: Pair) -> None:
    departures, told, other = Departures(), threading.Event(), threading.Event()
    departures.watch(pair[0], told.set)
    pair[1].sendall(b"GET /health")
    _wait_for_another(departures, other)
    assert not told.is_set()
    assert pair[0].recv(100) == b"GET /health"


def test_what_is_forgotten_is_not_told(pair: Pair) -> None:
    departures, told, other = Departures(), threading.Event(), threading.Event()
    forget = departures.watch(pair[0], told.set)
    forget()
    forget()
    pair[1].close()
    _wait_for_another(departures, other)
    assert not told.is_set()


def test_a_number_that_is_used_again_is_another_connection(pair: Pair) -> None:
    departures, told, other = Departures(), threading.Event(), threading.Event()
    forget = departures.watch(pair[0], told.set)
    number = pair[0].fileno()
    pair[0].close()
    forget()
    again, theirs = socket.socketpair()
    assert number in (again.fileno(), theirs.fileno())
    with again, theirs:
        departures.watch(again if again.fileno() == number else theirs, other.set)
        forget()  # of the old one
        (theirs if again.fileno() == number else again).close()
        assert other.wait(10)
    assert not told.is_set()


def test_what_cannot_be_watched_is_left_alone(pair: Pair) -> None:
    departures, told = Departures(), threading.Event()
    departures.watch(pair[0], told.set)
    departures.watch(pair[0], pytest.fail)()  # twice
    closed = socket.socket()
    closed.close()
    departures.watch(closed, pytest.fail)()
    pair[1].close()
    assert told.wait(10)


def test_many_come_and_go() -> None:
    departures, before = Departures(), _threads()

    def exchange(number: int) -> bool:
        ours, theirs = socket.socketpair()
        told = threading.Event()
        forget = departures.watch(ours, told.set)
        leaves = bool(number % 3)
        if leaves:
            theirs.close()
            assert told.wait(30)
        forget()
        ours.close()
        theirs.close()
        return told.is_set() == leaves

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(exchange, range(600)))
    assert _threads() == before + 1


def _threads() -> int:
    return [thread.name for thread in threading.enumerate()].count("departures")


def _wait_for_another(departures: Departures, other: threading.Event) -> None:
    """Return when the watching thread has seen what happened before this call."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        departures.watch(ours, other.set)
        theirs.close()
        assert other.wait(10)


@pytest.mark.parametrize("way", ["told", "looked for"])
@pytest.mark.parametrize("stream", [True, False])
def test_generation_ends_within_two_steps(
    make_service: MakeService, monkeypatch: pytest.MonkeyPatch, stream: bool, way: str
) -> None:
    if way == "told":
        monkeypatch.setattr("llama.web.streaming.gone_check", lambda environ: lambda: False)
    else:
        monkeypatch.setattr("llama.web.streaming.DEPARTURES.watch", lambda connection, tell: lambda: None)
    model = HashModel(ends=False, delay=0.3)
    service = make_service(model, parallel=2)
    server = make_server("127.0.0.1", 0, create_app(service=service), threaded=True)
    server.daemon_threads = True  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        connections = [_ask(server.server_port, stream) for _ in range(3)]  # two run, one waits
        _until(lambda: model.steps >= 3)
        connections.pop().close()
        _until(lambda: len(service.running()) == 2)
        steps = model.steps
        for connection in connections:
            connection.close()
        _until(lambda: not service.running())
        assert model.steps - steps <= 2
    finally:
        server.shutdown()
        server.server_close()


def _ask(port: int, stream: bool) -> socket.socket:
    """A connection on which an answer without end is asked for."""
    connection = socket.create_connection(("127.0.0.1", port))
    body = json.dumps({"prompt": "x", "max_tokens": 3000, "stream": stream}).encode()
    head = f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    connection.sendall(head.encode() + body)
    return connection


def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)
