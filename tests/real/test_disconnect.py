"""A client that goes away frees its slot at once, whatever the server was doing for it."""

from typing import Any

import pytest

from tests.real.exchange import Exchange, busy, seconds_until
from tests.running import RunningServer

pytestmark = pytest.mark.real_model

ENDLESS = {"prompt": "Once", "max_tokens": 7000, "ignore_eos": True, "temperature": 0}  # half a minute and more
LONG = {**ENDLESS, "prompt": "Many words are read here. " * 1200, "cache_prompt": False}  # seconds of silence
SOON = 1.5  # a look at the connection every 50 ms and two steps, on a machine that is busy with other things


def idle(server: RunningServer) -> bool:
    return not busy(server) and not server.get("/v1/requests")["data"]


@pytest.mark.parametrize("stream", [True, False], ids=["streaming", "whole"])
@pytest.mark.parametrize("body", [ENDLESS, LONG], ids=["writing", "reading"])
def test_leaving_frees_the_slot(real_server: RunningServer, body: dict[str, Any], stream: bool) -> None:
    seconds_until(lambda: idle(real_server))
    exchange = Exchange(real_server, "/v1/completions", {**body, "stream": stream})
    seconds_until(lambda: bool(busy(real_server)))
    if stream and body is ENDLESS:
        events = exchange.events()
        assert [next(events)["choices"][0]["finish_reason"] for _ in range(5)] == [None] * 5
    exchange.leave()
    assert seconds_until(lambda: idle(real_server)) < SOON


def test_leaving_the_queue(real_server: RunningServer) -> None:
    running = [Exchange(real_server, "/v1/completions", {**ENDLESS, "stream": True}) for _ in range(8)]
    for exchange in running:
        next(exchange.events())
    waiting = [Exchange(real_server, "/v1/completions", {**ENDLESS, "stream": stream}) for stream in (True, False)]
    seconds_until(lambda: len(real_server.get("/v1/requests")["data"]) == 10)
    for exchange in waiting:
        exchange.leave()
    assert seconds_until(lambda: len(real_server.get("/v1/requests")["data"]) == 8) < SOON
    for exchange in running:
        exchange.leave()
    assert seconds_until(lambda: idle(real_server)) < SOON


def test_one_choice_of_many_goes_with_its_request(real_server: RunningServer) -> None:
    exchange = Exchange(real_server, "/v1/completions", {**ENDLESS, "n": 3, "stream": True})
    next(exchange.events())
    exchange.leave()
    assert seconds_until(lambda: idle(real_server)) < SOON


def test_cancelling_by_id_ends_the_stream_with_an_error(real_server: RunningServer) -> None:
    with Exchange(real_server, "/v1/completions", {**ENDLESS, "stream": True}) as exchange:
        events = exchange.events()
        first = next(events)
        assert [item["id"] for item in real_server.get("/v1/requests")["data"]] == [first["id"]]
        assert real_server.post(f"/v1/requests/{first['id']}/cancel", {})["cancelled"]
        rest = list(events)
    assert rest[-2]["error"]["type"] == "cancelled_error"
    assert rest[-1] == "[DONE]"


def test_others_go_on_while_somebody_leaves(real_server: RunningServer) -> None:
    body = {"prompt": "A list of colours:", "temperature": 0, "max_tokens": 40}
    expected = real_server.post("/v1/completions", body)["choices"][0]["text"]
    with Exchange(real_server, "/v1/completions", body) as staying:
        leaving = Exchange(real_server, "/v1/completions", {**ENDLESS, "stream": True})
        next(leaving.events())
        leaving.leave()
        assert staying.body()["choices"][0]["text"] == expected
