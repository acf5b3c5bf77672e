"""SIGTERM: what runs may finish within the grace time, what cannot says so, nothing new comes in."""

import http.client
import signal
import time
import urllib.error
from pathlib import Path

import pytest

from tests.real.exchange import Exchange
from tests.running import RunningServer

pytestmark = pytest.mark.real_model

GRACE = 5
SHORT = {"prompt": "Once", "max_tokens": 100, "ignore_eos": True, "temperature": 0}
ENDLESS = {**SHORT, "max_tokens": 8000}


def test_the_grace_time(default_model: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with RunningServer(log, "-m", str(default_model), "--graceful-timeout", str(GRACE)) as server:
        short = Exchange(server, "/v1/completions", {**SHORT, "stream": True})
        endless = Exchange(server, "/v1/completions", {**ENDLESS, "stream": True})
        whole = Exchange(server, "/v1/completions", ENDLESS)
        streams = short.events(), endless.events()
        for events in streams:
            next(events)
        server.process.send_signal(signal.SIGTERM)
        start = time.monotonic()
        finished = list(streams[0])
        assert finished[-1] == "[DONE]"
        assert finished[-2]["choices"][0]["finish_reason"] == "length"
        with pytest.raises((urllib.error.URLError, OSError, http.client.HTTPException)):
            server.post("/v1/completions", SHORT)
        cut = list(streams[1])
        assert cut[-1] == "[DONE]"
        assert cut[-2]["error"] == {
            "code": 503, "message": "the server is stopping", "type": "unavailable_error", "param": None
        }  # fmt: skip
        assert whole.response.status == 503
        assert whole.body()["error"]["message"] == "the server is stopping"
        assert server.process.wait(GRACE) == 0
        assert time.monotonic() - start < GRACE + 1
        for exchange in (short, endless, whole):
            exchange.leave()
    said = log.read_text()
    assert "Traceback" not in said
    assert "Error" not in said


def test_an_idle_server_ends_at_once(default_model: Path, tmp_path: Path) -> None:
    with RunningServer(tmp_path / "log", "-m", str(default_model)) as server:
        with Exchange(server, "/v1/completions", {**SHORT, "max_tokens": 1}) as exchange:
            exchange.body()  # the connection stays open, as clients' pools keep theirs
            start = time.monotonic()
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(10) == 0
        assert time.monotonic() - start < 5
