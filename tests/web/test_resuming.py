"""Streams that are taken up again after the connection was lost, and an endpoint that says what models here cannot."""

import io
import json
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from flask.testing import FlaskClient

from llama.api import conversations as module
from llama.api.conversations import Conversations, Ring
from llama.errors import InvalidRequest, NotFound
from llama.web import create_app
from tests.fakes import HashModel, ScriptedModel
from tests.web.conftest import MakeClient, MakeService

ID = "chat-1::org/model:Q8_0"
HEADER = {"X-Conversation-Id": ID}
WORDS = [f"w{number} " for number in range(30)]


def slow() -> ScriptedModel:
    """Says WORDS, so slowly that a test can look at it meanwhile."""
    return ScriptedModel(WORDS, delay=0.02)


def endless() -> HashModel:
    return HashModel(ends=False, delay=0.02)


def start(client: FlaskClient, path: str = "/v1/completions", **extra: Any) -> Any:
    """The answer to a request of the conversation that streams."""
    body = {"prompt": "x", "messages": [{"role": "user", "content": "x"}], "max_tokens": 100, "stream": True, **extra}
    return client.post(path, json=body, headers=HEADER)


def replay(client: FlaskClient, start: int | str = 0) -> Any:
    return client.get("/v1/stream", query_string={"conv_id": ID, "from": start})


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def text_of(raw: bytes) -> str:
    """The text of a whole stream of /v1/completions."""
    frames = raw.decode().split("\n\n")
    assert frames[-2:] == ["data: [DONE]", ""]
    chunks = [json.loads(frame.removeprefix("data: ")) for frame in frames[:-2] if frame != ":"]
    return "".join(chunk["choices"][0]["text"] for chunk in chunks)


@pytest.mark.parametrize("path", ["/v1/completions", "/v1/chat/completions", "/completion", "/v1/messages"])
def test_a_finished_stream_is_kept(make_client: MakeClient, path: str) -> None:
    client = make_client(WORDS)
    whole = start(client, path).data
    assert b"w29" in whole
    for offset in (0, 1, 100, len(whole) - 1, len(whole), len(whole) + 5):
        again = replay(client, offset)
        assert (again.status_code, again.mimetype) == (200, "text/event-stream")
        assert again.data == whole[offset:]
    assert client.get("/v1/stream", query_string={"conv_id": ID}).data == whole


def test_the_stream_goes_on_when_the_client_leaves(make_service: MakeService) -> None:
    service = make_service(slow())
    client = create_app(service=service).test_client()
    answer = start(client)
    begun = next(answer.response)
    answer.close()  # what the server of a connection does that has been lost
    rest = replay(client, len(begun)).data
    assert text_of(begun + rest) == "".join(WORDS)
    until(lambda: not service.running())


def test_readers_follow_the_same_stream(make_service: MakeService) -> None:
    app = create_app(service=make_service(slow()))
    answer = start(app.test_client())
    first = next(answer.response)
    found: list[bytes] = []
    readers = [threading.Thread(target=lambda: found.append(replay(app.test_client()).data)) for _ in range(3)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join(60)
    assert found == [first + b"".join(answer.response)] * 3
    assert text_of(found[0]) == "".join(WORDS)


def test_deleting_ends_the_work(make_service: MakeService) -> None:
    service = make_service(endless())
    client = create_app(service=service).test_client()
    answer = start(client, max_tokens=3000)
    next(answer.response)
    assert len(service.running()) == 1
    gone = client.delete("/v1/stream", query_string={"conv_id": ID})
    assert (gone.status_code, gone.data) == (204, b"")
    until(lambda: not service.running())
    assert replay(client).status_code == 404
    assert client.delete("/v1/stream", query_string={"conv_id": ID}).status_code == 204
    assert b"[DONE]" not in b"".join(answer.response)


def test_a_new_request_takes_the_place_of_the_old(make_service: MakeService) -> None:
    service = make_service(endless(), parallel=1)
    client = create_app(service=service).test_client()
    old = start(client, max_tokens=3000, request_id="old")
    next(old.response)
    new = start(client, max_tokens=2, request_id="new")  # there is one slot: it waits for the old one's end
    whole = new.data
    assert text_of(whole)
    assert replay(client).data == whole
    until(lambda: not service.running())
    old.close()


def test_what_fails_before_it_begins_leaves_nothing(make_client: MakeClient) -> None:
    client = make_client(WORDS, ctx_size=64)
    for extra in ({"temperature": "x"}, {"prompt": "y" * 200}):
        assert start(client, **extra).status_code == 400
        assert replay(client).status_code == 404
    assert start(client, stream=False, max_tokens=2).get_json()["choices"][0]["text"] == "w0 w1 "
    assert replay(client).status_code == 404


def test_how_far_streams_are(make_service: MakeService) -> None:
    client = create_app(service=make_service(slow())).test_client()

    def look(*ids: str) -> Any:
        return client.post("/v1/streams/lookup", json={"conversation_ids": ids}).get_json()

    answer = start(client)
    next(answer.response)
    [running] = look(ID)
    assert (running["conversation_id"], running["is_done"], running["completed_at"]) == (ID, False, 0)
    whole = replay(client).data
    [done] = look("chat-1")  # without the model's name
    assert (done["is_done"], done["total_bytes"]) == (True, len(whole))
    assert done["completed_at"] >= done["started_at"] == running["started_at"]
    assert look("chat", "chat-2", "", "::", "org/model:Q8_0") == []
    assert client.post("/v1/streams/lookup", json={}).get_json() == []
    answer.close()


def test_lookups_of_many_ids_look_at_each_stream_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams are at most a few hundred, ids as many as fit into a body: they are not compared each with each."""
    known, looked = Conversations(), []
    names = ["b", "a::m::x", "a", "c"]
    for name in names:
        known.open(name, lambda: None)

    class Id(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            looked.append(other)
            return str(self) == other

        __hash__ = str.__hash__

    many = tuple(Id(f"none {number}") for number in range(1000))
    assert [name for name, _ in known.find((*many, "c", "a::m", "a", "a", "x", ""))] == ["c", "a::m::x", "a::m::x", "a"]
    assert len(looked) < 100


def test_ids_of_any_alphabet(client: FlaskClient) -> None:
    body = {"prompt": "x", "max_tokens": 2, "stream": True}
    sent = client.post("/v1/completions", json=body, headers={"X-Conversation-Id": "añ 🦄".encode().decode("latin-1")})
    whole = sent.data
    answer = client.get("/v1/stream", query_string={"conv_id": "añ 🦄"})
    assert (answer.status_code, answer.data) == (200, whole)
    [found] = client.post("/v1/streams/lookup", json={"conversation_ids": ["añ 🦄"]}).get_json()
    assert found["conversation_id"] == "añ 🦄"


@pytest.mark.parametrize("body", [{"conversation_ids": "x"}, {"conversation_ids": [1]}, [], "x"])
def test_lookups_that_are_none(client: FlaskClient, body: Any) -> None:
    assert client.post("/v1/streams/lookup", json=body).status_code == 400


@pytest.mark.parametrize("offset", ["-1", "x", "1.5", "٣", "1" * 30])
def test_places_that_are_none(client: FlaskClient, offset: str) -> None:
    assert start(client).data
    error = replay(client, offset)
    assert (error.status_code, error.get_json()["error"]["param"]) == (400, "from")


@pytest.mark.parametrize("method", ["get", "delete"])
def test_the_id_is_needed(client: FlaskClient, method: str) -> None:
    for query in ({}, {"conv_id": ""}):
        error = client.open("/v1/stream", method=method.upper(), query_string=query)
        assert (error.status_code, error.get_json()["error"]["param"]) == (400, "conv_id")


def test_streams_need_the_key(make_client: MakeClient) -> None:
    client = make_client(WORDS, api_key=("secret",))
    assert replay(client).status_code == 401
    assert client.delete("/v1/stream", query_string={"conv_id": ID}).status_code == 401
    assert client.post("/v1/streams/lookup", json={}).status_code == 401


def test_only_the_last_bytes_are_kept(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Ring", partial(Ring, capacity=100))
    start(client).close()
    until(lambda: client.post("/v1/streams/lookup", json={"conversation_ids": [ID]}).get_json()[0]["is_done"])
    [found] = client.post("/v1/streams/lookup", json={"conversation_ids": [ID]}).get_json()
    total = found["total_bytes"]
    assert total > 500
    for offset in (0, total - 101):
        lost = replay(client, offset)
        assert (lost.status_code, lost.get_json()["error"]["param"]) == (400, "from")
    kept = replay(client, total - 100).data
    assert len(kept) == 100
    assert kept.endswith(b"data: [DONE]\n\n")


def test_a_ring() -> None:
    ring = Ring(lambda: None, capacity=4)
    assert ring.read(0, 0) == b""
    ring.append(b"abc")
    assert (ring.read(0, 0), ring.read(2, 0), ring.read(3, 0)) == (b"abc", b"c", b"")
    ring.append(b"def")
    assert (ring.total, ring.read(2, 0)) == (6, b"cdef")
    with pytest.raises(InvalidRequest):
        ring.read(1, 0)
    ring.append(b"0123456789")
    assert (ring.total, ring.read(12, 0)) == (16, b"6789")
    ring.finish()
    ring.append(b"too late")
    assert (ring.read(15, 5), ring.read(16, 5), ring.read(99, 5)) == (b"9", None, None)


def test_streams_are_forgotten_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    known, cancelled = Conversations(), []
    running = known.open("running", lambda: cancelled.append("running"))
    known.open("ended", lambda: cancelled.append("ended")).finish()
    assert known.get("ended").completed
    monkeypatch.setattr(module, "KEPT", -1.0)
    with pytest.raises(NotFound):
        known.get("ended")
    assert known.get("running") is running
    monkeypatch.setattr(module, "KEPT", 300.0)
    monkeypatch.setattr(module, "MOST", 3)
    for number in range(5):
        known.open(str(number), lambda: cancelled.append("a number")).finish()
    assert [name for name, _ in known.find(("running", *"01234"))] == ["running", "3", "4"]
    assert cancelled == []
    known.open("running", lambda: None)
    assert cancelled == ["running"]


def test_long_streams_make_room_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ALL", 1000)
    known = Conversations()
    names = ("running", *"0123")
    running = known.open("running", lambda: None)
    running.append(bytes(300))
    for number in range(4):
        ring = known.open(str(number), lambda: None)
        ring.append(bytes(300))
        ring.finish()
        time.sleep(0.002)  # so that it is known which ended first
    assert [name for name, _ in known.find(names)] == ["running", "2", "3"]
    running.append(bytes(1000))  # what runs is never dropped
    assert [name for name, _ in known.find(names)] == ["running"]


@pytest.mark.parametrize("path", ["/v1/audio/transcriptions", "/audio/transcriptions"])
def test_no_model_hears(client: FlaskClient, path: str) -> None:
    form = {"file": (io.BytesIO(b"RIFF" + bytes(5000)), "a.wav"), "model": "whisper-1"}
    for answer in (client.post(path, data=form, content_type="multipart/form-data"), client.post(path, data=b"")):
        error = answer.get_json()["error"]
        assert (answer.status_code, error["type"]) == (501, "not_supported_error")
        assert error["message"] == "The current model does not support audio input."
