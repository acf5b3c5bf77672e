"""What strangers send over the wire: odd requests on raw sockets, and clients that are slow, hasty or gone."""

import gzip
import json
import re
import socket
import time

import pytest

from tests.acceptance.hosting import Client
from tests.running import RunningServer

BODY = json.dumps({"prompt": "a", "n_predict": 2, "max_tokens": 2}).encode()


def exchange(port: int, data: bytes, *, pause: float = 0.0, parts: int = 1, done: bool = False) -> bytes:
    """Everything the server answers to these bytes; `done` closes our side behind them, as one who leaves does."""
    with socket.create_connection(("127.0.0.1", port), 20) as wire:
        size = -(-len(data) // parts)
        for start in range(0, len(data), size):
            wire.sendall(data[start : start + size])
            time.sleep(pause)
        if done:
            wire.shutdown(socket.SHUT_WR)
        found = b""
        while piece := wire.recv(65536):
            found += piece
    return found


def post(path: str, body: bytes, *lines: str) -> bytes:
    head = [f"POST {path} HTTP/1.1", "Host: x", f"Content-Length: {len(body)}", *lines]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"5",
        b'"x"',
        b'{"prompt": NaN}',
        b'{"prompt": "a", "temperature": Infinity}',
        b'{"prompt": "\\ud800"}',
        b'{"prompt": "\\udc00\\ud800"}',
        b'{"prompt": "\xff"}',
        b'{"prompt": "a"} x',
        b"[" * 200_000,
        b'{"prompt": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
        b'{"prompt": "a", "max_tokens": 1e999}',
        b'{"prompt": "a", "json_schema": ' + b'{"items":' * 5000 + b"{}" + b"}" * 5000 + b"}",
        b'{"prompt": "a", "grammar": "root ::= ' + b"(" * 20_000 + b'"}',
    ],
)
@pytest.mark.parametrize("path", ["/v1/completions", "/v1/chat/completions", "/tokenize", "/apply-template"])
def test_bodies_are_refused_in_json(server: Client, path: str, body: bytes) -> None:
    reply = server.ask("POST", path, raw=body)
    if path == "/tokenize" and body.startswith(b'{"prompt"') and reply.status == 200:
        return  # a field that it does not read
    assert reply.status == 400, reply.raw[:300]
    assert (reply.error["code"], reply.error["type"]) == (400, "invalid_request_error")


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
)
def test_any_content_type(server: Client, kind: str) -> None:
    assert server.ask("POST", "/completion", raw=BODY, headers={"Content-Type": kind}).status == 200


def test_compressed_and_huge(server: Client, process: RunningServer) -> None:
    assert (
        server.ask("POST", "/completion", raw=gzip.compress(BODY), headers={"Content-Encoding": "gzip"}).status == 415
    )
    answer = exchange(
        process.port, b"POST /completion HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999999\r\n\r\n{", done=True
    )
    assert answer.split()[1] in (b"400", b"413")
    many = json.dumps({"prompt": "a " * 2_000_000}).encode()
    reply = server.ask("POST", "/completion", raw=many)
    assert (reply.status, reply.error["type"]) == (400, "exceed_context_size_error")


def test_bodies_in_chunks(server: Client, process: RunningServer) -> None:
    chunks = b"".join(f"{len(p):x}\r\n".encode() + p + b"\r\n" for p in (BODY[:7], BODY[7:])) + b"0\r\n\r\n"
    head = b"POST /completion HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    assert b" 200 " in exchange(process.port, head + chunks).splitlines()[0]
    assert server.get("/health").status == 200


@pytest.mark.parametrize("chunks", [b"zz\r\nabc\r\n0\r\n\r\n", b"-1\r\nabc\r\n0\r\n\r\n", b"3\r\nabcdef\r\n0\r\n\r\n"])
def test_bodies_that_are_badly_cut(server: Client, process: RunningServer, chunks: bytes) -> None:
    head = b"POST /completion HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = exchange(process.port, head + chunks)
    assert b" 400 " in answer.splitlines()[0]
    assert b"the request body cannot be read" in answer
    assert server.get("/health").status == 200


def test_a_slow_client(process: RunningServer) -> None:
    answer = exchange(process.port, post("/completion", BODY, "Connection: close"), pause=0.02, parts=20)
    assert b" 200 " in answer.splitlines()[0]


def test_pipelined_requests_are_answered_in_order(process: RunningServer) -> None:
    first = post("/completion", BODY)
    answer = exchange(
        process.port, first + post("/tokenize", b'{"content": "a"}') + post("/x", b"{}", "Connection: close")
    )
    assert re.findall(rb"HTTP/1.1 (\d+)", answer) == [b"200", b"200", b"404"]


@pytest.mark.parametrize("data", [b"\x16\x03\x01\x02\x00\x01", b"GET\r\n\r\n", b"\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"])
def test_what_is_no_http(server: Client, process: RunningServer, data: bytes) -> None:
    exchange(process.port, data, done=True)
    assert server.get("/health").status == 200


@pytest.mark.parametrize("stream", [False, True])
def test_leaving_at_any_moment(server: Client, process: RunningServer, stream: bool) -> None:
    body = json.dumps({"prompt": "Once", "n_predict": 200, "ignore_eos": True, "stream": stream}).encode()
    data = post("/completion", body)
    for cut in (1, 30, len(data) - 5, len(data)):
        with socket.create_connection(("127.0.0.1", process.port), 5) as wire:
            wire.sendall(data[:cut])
            time.sleep(0.02)
    end = time.monotonic() + 5
    while any(slot["is_processing"] for slot in server.get("/slots").json):
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/completions"),
        ("PUT", "/v1/completions"),
        ("POST", "/health"),
        ("GET", "/nope"),
        ("GET", "/health/"),
        ("DELETE", "/v1/models"),
        ("GET", "/%00"),
        ("GET", "/..%2f..%2fetc/passwd"),
        ("GET", "/v1//models"),
        ("PATCH", "/slots"),
        ("GET", "/api/tags"),
    ],
)
def test_unknown_paths_and_methods(server: Client, method: str, path: str) -> None:
    reply = server.ask(method, path)
    assert (reply.status, reply.error["type"]) == (404, "not_found_error")
    assert reply.headers["Content-Type"] == "application/json; charset=utf-8"


@pytest.mark.parametrize("path", ["/health", "/v1/models", "/props", "/slots", "/metrics", "/"])
def test_head(server: Client, path: str) -> None:
    get, head = server.get(path), server.ask("HEAD", path)
    assert (head.status, head.raw) == (200, b"")
    assert head.headers["Content-Type"] == get.headers["Content-Type"]


def test_long_addresses(server: Client) -> None:
    assert server.get("/health?" + "a" * 3000).status == 200
    assert 400 <= server.get("/x" * 20_000).status < 500


def test_text_that_is_hard_to_carry(server: Client) -> None:
    for text in ("\x00", "\u2028\r\n\n", "\U0010ffff", "é" * 50, '"\\', "<|im_start|>", "\ufeffa"):
        answer = server.ok("/v1/completions", {"prompt": text, "echo": True, "max_tokens": 0})
        assert answer["choices"][0]["text"] == text
