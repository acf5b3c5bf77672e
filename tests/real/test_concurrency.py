"""Several clients at once get what each would have got alone."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.running import RunningServer

pytestmark = pytest.mark.real_model

CHATS = [
    {"messages": [{"role": "user", "content": text}], "max_tokens": 24, **fields}
    for text, fields in [
        ("What is the capital of Italy?", {"temperature": 0}),
        ("Write a poem about the sea.", {"temperature": 1.2, "seed": 11}),
        ("Name three animals. " * 30, {"temperature": 0}),
        ("What is 2 + 2?", {"temperature": 0, "response_format": {"type": "json_object"}}),
        ("Tell me a joke.", {"temperature": 0, "cache_prompt": False}),
    ]
]


def whole(server: RunningServer, body: dict[str, Any]) -> str:
    return str(server.post("/v1/chat/completions", body)["choices"][0]["message"]["content"])


def streamed(server: RunningServer, body: dict[str, Any]) -> str:
    events = server.stream("/v1/chat/completions", {**body, "stream": True})
    assert events[-1] == "[DONE]"
    return "".join(choice["delta"].get("content") or "" for event in events[:-1] for choice in event["choices"])


def test_five_clients_at_once(real_server: RunningServer) -> None:
    alone = [whole(real_server, body) for body in CHATS]
    with ThreadPoolExecutor(10) as pool:
        texts = [pool.submit(ask, real_server, body) for body in CHATS for ask in (whole, streamed)]
    assert [text.result() for text in texts] == [text for text in alone for _ in range(2)]


def test_more_clients_than_slots_all_get_their_turn(real_server: RunningServer) -> None:
    body = {"prompt": "The", "temperature": 0, "max_tokens": 8}
    with ThreadPoolExecutor(24) as pool:
        answers = list(pool.map(lambda _: real_server.post("/v1/completions", body), range(24)))
    assert len({answer["choices"][0]["text"] for answer in answers}) == 1


def test_a_bad_request_among_good_ones_fails_alone(real_server: RunningServer) -> None:
    good = {"prompt": "The", "temperature": 0, "max_tokens": 8}
    bad = {**good, "grammar": 'root ::= "unclosed'}

    def status(body: dict[str, Any]) -> int:
        try:
            real_server.post("/v1/completions", body)
        except OSError as error:
            code = int(getattr(error, "code", 0))
            getattr(error, "close", lambda: None)()
            return code
        return 200

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(status, [good, bad] * 3)) == [200, 400] * 3
