"""Text completion with the default model: shapes, several prompts, scores, streams."""

import math
from typing import Any

import pytest

from tests.running import RunningServer

pytestmark = pytest.mark.real_model

PATH = "/v1/completions"


def greedy(prompt: Any, **fields: Any) -> dict[str, Any]:
    """A body that continues `prompt` with the likeliest tokens."""
    return {"prompt": prompt, "temperature": 0, "max_tokens": 12, **fields}


def test_an_answer_in_full(real_server: RunningServer) -> None:
    answer = real_server.post(PATH, greedy("The capital of France is", model="mine"))
    assert answer["id"].startswith("cmpl-")
    assert (answer["object"], answer["model"]) == ("text_completion", "mine")
    (choice,) = answer["choices"]
    assert "Paris" in choice["text"]
    assert (choice["index"], choice["finish_reason"], choice["logprobs"]) == (0, "length", None)
    assert answer["usage"]["completion_tokens"] == 12


def test_a_stream_adds_up_to_the_whole(real_server: RunningServer) -> None:
    body = greedy("Once upon a time", max_tokens=40, temperature=0.9, seed=3)
    whole = real_server.post(PATH, body)["choices"][0]
    events = real_server.stream(PATH, {**body, "stream": True})
    choices = [choice for event in events[:-1] for choice in event["choices"]]
    assert events[-1] == "[DONE]"
    assert "".join(choice["text"] for choice in choices) == whole["text"]
    assert (choices[-1]["text"], choices[-1]["finish_reason"]) == ("", whole["finish_reason"])


def test_ids_and_text_are_the_same_prompt(real_server: RunningServer) -> None:
    text = "Roses are red, violets are"
    ids = real_server.post("/tokenize", {"content": text})["tokens"]
    assert real_server.post("/detokenize", {"tokens": ids})["content"] == text
    answer = real_server.post(PATH, greedy([text, text], n=1))
    alone = real_server.post(PATH, greedy(ids))
    assert [choice["text"] for choice in answer["choices"]] == [alone["choices"][0]["text"]] * 2
    assert answer["usage"]["prompt_tokens"] == 2 * len(ids) == 2 * alone["usage"]["prompt_tokens"]


def test_prompts_come_before_choices(real_server: RunningServer) -> None:
    answer = real_server.post(PATH, greedy(["One, two,", "A, B,"], n=2, max_tokens=4, temperature=0.5, seed=1))
    assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2, 3]
    assert answer["usage"]["completion_tokens"] == 16


def test_a_prompt_is_scored_without_writing_anything(real_server: RunningServer) -> None:
    text = "The sky is blue"
    ids = real_server.post("/tokenize", {"content": text})["tokens"]
    choice = real_server.post(PATH, greedy(text, echo=True, logprobs=2, max_tokens=0))["choices"][0]
    scores = choice["logprobs"]
    assert (choice["text"], "".join(scores["tokens"])) == (text, text)
    assert len(scores["token_logprobs"]) == len(scores["top_logprobs"]) == len(scores["text_offset"]) == len(ids)
    assert (scores["token_logprobs"][0], scores["top_logprobs"][0]) == (None, None)
    assert all(score < 0 for score in scores["token_logprobs"][1:])
    assert scores["text_offset"] == [text.index(token) for token in scores["tokens"]]


def test_a_written_token_scores_the_same_when_it_is_read(real_server: RunningServer) -> None:
    wrote = real_server.post(PATH, greedy("Once upon a time", echo=True, logprobs=1))["choices"][0]["logprobs"]
    read = real_server.post(PATH, greedy("".join(wrote["tokens"]), echo=True, logprobs=1, max_tokens=0))
    again = read["choices"][0]["logprobs"]
    assert again["tokens"] == wrote["tokens"]
    assert again["token_logprobs"] == wrote["token_logprobs"]


def test_a_stop_text_that_spans_tokens(real_server: RunningServer) -> None:
    full = real_server.post(PATH, greedy("1, 2, 3, 4, 5,", max_tokens=30))["choices"][0]["text"]
    stop = full[7:11]
    choice = real_server.post(PATH, greedy("1, 2, 3, 4, 5,", max_tokens=30, stop=[stop]))["choices"][0]
    assert (choice["text"], choice["finish_reason"]) == (full[: full.index(stop)], "stop")


def test_half_a_character_is_never_sent(real_server: RunningServer) -> None:
    body = greedy("x", grammar='root ::= "日本語 \U0001f600 é"', max_tokens=40, stream=True)
    events = real_server.stream(PATH, body)
    texts = [choice["text"] for event in events[:-1] for choice in event["choices"]]
    assert "".join(texts) == "日本語 \U0001f600 é"
    assert not any("�" in text for text in texts)


def test_the_native_endpoint(real_server: RunningServer) -> None:
    answer = real_server.post("/completion", {"prompt": "Hi", "n_predict": 5, "temperature": 0, "n_probs": 2})
    assert (answer["tokens_predicted"], answer["stop_type"], answer["stop"]) == (5, "limit", True)
    likeliest = answer["completion_probabilities"][0]["top_logprobs"][0]["logprob"]
    assert math.isclose(likeliest, answer["completion_probabilities"][0]["logprob"])
