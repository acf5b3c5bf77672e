"""What llama-server's own tests hold of its text completions, on the same tiny model and preset."""

import http.client
import json
import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai
import pytest

from tests.acceptance.conftest import Host
from tests.acceptance.hosting import Client
from tests.running import RunningServer

MEANING = "I believe the meaning of life is"
JOKE = "Write a joke about AI from a very long prompt which will not be truncated"


@pytest.mark.parametrize(
    ("prompt", "n", "n_prompt", "n_predicted", "return_tokens"), [(MEANING, 8, 18, 8, False), (JOKE, 64, 46, 64, True)]
)
def test_the_counts_of_a_completion(
    server: Client, prompt: str, n: int, n_prompt: int, n_predicted: int, return_tokens: bool
) -> None:
    body = {"prompt": prompt, "n_predict": n, "cache_prompt": False, "return_tokens": return_tokens}
    answer = server.ok("/completion", body)
    assert (answer["timings"]["prompt_n"], answer["timings"]["predicted_n"]) == (n_prompt, n_predicted)
    assert (answer["tokens_evaluated"], answer["tokens_predicted"]) == (n_prompt, n_predicted)
    assert answer["truncated"] is False
    assert isinstance(answer["has_new_line"], bool)
    assert len(answer["tokens"]) == (n_predicted if return_tokens else 0)
    assert all(isinstance(token, int) for token in answer["tokens"])
    assert len(answer["content"]) > 10


@pytest.mark.parametrize(("prompt", "n"), [(MEANING, 8), (JOKE, 64)])
def test_the_objects_of_a_stream(server: Client, prompt: str, n: int) -> None:
    events = server.stream("/completion", {"prompt": prompt, "n_predict": n})
    content = ""
    for event in events:
        assert event["stop"] is (event is events[-1])
        if not event["stop"]:
            assert event["tokens"]
            assert {"index", "content", "id_slot", "tokens_predicted", "tokens_evaluated"} <= event.keys()
        content += event["content"]
    last = events[-1]
    assert last["timings"]["predicted_n"] == n
    assert (last["stop_type"], last["content"], last["tokens"]) == ("limit", "", [])
    assert last["generation_settings"]["n_predict"] == n
    assert last["generation_settings"]["seed"] == 42
    assert {"adaptive_target", "adaptive_decay"} <= last["generation_settings"].keys()
    assert content == server.ok("/completion", {"prompt": prompt, "n_predict": n})["content"]


def test_partial_objects_name_their_slot(server: Client) -> None:
    events = server.stream("/completion", {"prompt": MEANING, "n_predict": 4, "id_slot": 1})
    assert {event["id_slot"] for event in events} == {1}


def test_the_openai_library(process: RunningServer) -> None:
    with openai.OpenAI(api_key="dummy", base_url=f"{process.url}/v1", max_retries=0) as client:
        whole = client.completions.create(model="davinci-002", prompt=MEANING, max_tokens=8)
        assert whole.system_fingerprint is not None
        assert whole.system_fingerprint.startswith("b")
        assert whole.choices[0].finish_reason == "length"
        assert whole.usage is not None
        assert whole.usage.completion_tokens == 8
        streamed = list(client.completions.create(model="davinci-002", prompt=MEANING, max_tokens=8, stream=True))
    choices = [chunk.choices[0] for chunk in streamed if chunk.choices]
    assert "".join(choice.text for choice in choices) == whole.choices[0].text
    assert [choice.finish_reason for choice in choices][-1] == "length"
    assert {choice.finish_reason for choice in choices[:-1]} == {None}


def test_seeds(server: Client) -> None:
    def text(seed: int) -> str:
        body = {"prompt": MEANING, "seed": seed, "temperature": 1.0, "cache_prompt": False, "n_predict": 24}
        return str(server.ok("/completion", body)["content"])

    assert len({text(1) for _ in range(3)}) == 1
    assert len({text(seed) for seed in range(4)}) == 4


def test_the_batch_size_does_not_change_the_text(host: Host) -> None:
    body = {"prompt": JOKE, "temperature": 0, "cache_prompt": False, "n_predict": 24}
    texts = {host("-ub", str(size)).ok("/completion", body)["content"] for size in (16, 32)}
    assert len(texts) == 1


def test_a_prompt_that_is_too_long_is_refused(server: Client) -> None:
    reply = server.post("/completion", {"prompt": (MEANING + " ") * 32})
    assert reply.status == 400
    assert reply.error["type"] == "exceed_context_size_error"


def test_prompts_of_ids_of_objects_and_mixed(server: Client) -> None:
    ids = server.ok("/tokenize", {"content": MEANING, "add_special": True})["tokens"]
    ask: dict[str, Any] = {"n_predict": 8, "temperature": 0}
    want = server.ok("/completion", {**ask, "prompt": MEANING})["content"]
    assert server.ok("/completion", {**ask, "prompt": ids})["content"] == want
    assert server.ok("/completion", {**ask, "prompt": {"prompt_string": MEANING}})["content"] == want
    pairs: list[Any] = [[ids, ids], [ids, MEANING], [MEANING, ids], [ids, {"prompt_string": MEANING}]]
    for prompts in pairs:
        answers = server.ok("/completion", {**ask, "prompt": prompts})
        assert [answer["content"] for answer in answers] == [want, want]
        assert [answer["index"] for answer in answers] == [0, 1]
    mixed = server.ok("/completion", {**ask, "prompt": [1, 15043, "hello"][:1] + ids[1:3] + ["hello"] + ids[3:5]})
    assert isinstance(mixed["content"], str)


def test_media_for_a_text_model_are_refused(server: Client) -> None:
    body = {"prompt": {"prompt_string": "a <__media__>", "multimodal_data": ["aGk="]}}
    assert server.post("/completion", body).status in (400, 501)


@pytest.mark.parametrize(("slots", "requests"), [(1, 3), (2, 2), (2, 4), (4, 2), (4, 6)])
def test_parallel_slots(host: Host, slots: int, requests: int) -> None:
    hosted = host("-np", str(slots), "-c", str(256 * slots))
    with ThreadPoolExecutor(requests) as pool:
        prompts = [f"{'Once upon a time there was a cat number'} {i}" for i in range(requests)]
        futures = [pool.submit(hosted.ok, "/completion", {"prompt": p, "n_predict": 100, "seed": 42}) for p in prompts]
        answers = [future.result() for future in futures]
    assert all(len(answer["content"]) > 10 for answer in answers)
    assert all(answer["tokens_predicted"] == 100 for answer in answers)


@pytest.mark.parametrize("n", [2, 4])
def test_a_unified_pool_that_is_short_waits_instead_of_failing(host: Host, n: int) -> None:
    """llama-server answers 500 here when it is unlucky."""
    hosted = host("-c", "256", "-np", "4", "--kv-unified", preset=False)
    with ThreadPoolExecutor(n) as pool:
        bodies = [{"prompt": f"Story {i}: " + "once upon a time " * 12, "n_predict": 80, "seed": 1} for i in range(n)]
        together = list(pool.map(lambda body: hosted.ok("/completion", body), bodies))
    assert [answer["timings"]["predicted_n"] for answer in together] == [80] * n
    alone = [hosted.ok("/completion", {**body, "cache_prompt": False}) for body in bodies]
    assert [answer["content"] for answer in together] == [answer["content"] for answer in alone]


def test_response_fields(server: Client) -> None:
    fields = ["content", "generation_settings/n_predict", "prompt"]
    answer = server.ok("/completion", {"prompt": MEANING, "n_predict": 4, "response_fields": fields})
    assert answer.keys() == set(fields)
    assert answer["prompt"] == "<s> " + MEANING
    assert answer["generation_settings/n_predict"] == 4
    everything = server.ok("/completion", {"prompt": MEANING, "n_predict": 4, "response_fields": []})
    assert everything["generation_settings"]["n_predict"] == 4


def check_probabilities(item: dict[str, Any]) -> None:
    assert isinstance(item["id"], int)
    assert isinstance(item["token"], str)
    assert item["logprob"] <= 0.0
    assert isinstance(item["bytes"], list)


def test_probabilities(server: Client) -> None:
    answer = server.ok("/completion", {"prompt": MEANING, "n_probs": 10, "temperature": 0, "n_predict": 5})
    items = answer["completion_probabilities"]
    assert len(items) == 5
    for item in items:
        check_probabilities(item)
        assert len(item["top_logprobs"]) == 10
        for top in item["top_logprobs"]:
            check_probabilities(top)
        assert item["id"] == item["top_logprobs"][0]["id"]
    events = server.stream("/completion", {"prompt": MEANING, "n_probs": 10, "temperature": 0, "n_predict": 5})
    assert [event["completion_probabilities"] for event in events if not event["stop"]] == [[item] for item in items]


def test_probabilities_after_the_chain(server: Client) -> None:
    body = {"prompt": MEANING, "n_probs": 10, "temperature": 1.0, "n_predict": 5, "post_sampling_probs": True}
    items = server.ok("/completion", body)["completion_probabilities"]
    assert len(items) == 5
    for number, item in enumerate(items):
        assert 0 < item["prob"] <= 1
        assert "logprob" not in item
        tops = item["top_probs"]
        assert all(0 < top["prob"] <= 1 for top in tops)
        assert len(tops) == 10 if number == 0 else True
        if len(tops) < 10:
            assert sum(top["prob"] for top in tops) == pytest.approx(1.0, abs=1e-5)


def test_probabilities_when_greedy(server: Client) -> None:
    body = {"prompt": MEANING, "n_probs": 3, "temperature": 0, "n_predict": 2, "post_sampling_probs": True}
    for item in server.ok("/completion", body)["completion_probabilities"]:
        assert item["prob"] == 1.0
        assert [top["prob"] for top in item["top_probs"]] == [1.0]


@pytest.mark.parametrize("tokenize", [False, True])
@pytest.mark.parametrize("as_object", [False, True])
@pytest.mark.parametrize("path", ["/completion", "/v1/completions"])
def test_banned_words(server: Client, tokenize: bool, as_object: bool, path: str) -> None:
    exclude = ["i", "I", "the", "The", "to", "a", "an", "be", "is", "was", "but", "But", "and", "And", "so", "So"]
    exclude += ["you", "You", "he", "He", "she", "She", "we", "We", "they", "They", "it", "It", "his", "His", "her"]
    bias: list[list[Any]] = []
    if tokenize:
        for word in exclude:
            ids = server.ok("/tokenize", {"content": word})["tokens"]
            bias += [[id, -100] for id in ids]
    else:
        bias = [[word, -100] for word in exclude]
    given: Any = {str(key): value for key, value in bias} if as_object else bias
    answer = server.ok(path, {"prompt": "What is the best book", "n_predict": 64, "logit_bias": given})
    text = answer["content"] if path == "/completion" else answer["choices"][0]["text"]
    assert not {word for word in exclude if f" {word} " in text}


def test_a_client_that_leaves_frees_its_slot(server: Client, process: RunningServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", process.port, timeout=0.1)
    body = {"prompt": MEANING, "n_predict": 200, "ignore_eos": True, "id_slot": 0}
    connection.request("POST", "/completion", json.dumps(body))
    with pytest.raises(TimeoutError):
        connection.getresponse().read()
    connection.close()
    end = time.monotonic() + 2
    while any(slot["is_processing"] for slot in server.get("/slots").json):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_prompt_and_cache_add_up(server: Client) -> None:
    count = len(server.ok("/tokenize", {"content": MEANING, "add_special": True})["tokens"])
    for i in range(16):
        prompt = MEANING[: 8 + i] + " " + MEANING[: 30 - i]
        size = len(server.ok("/tokenize", {"content": prompt, "add_special": True})["tokens"])
        timings = server.ok("/completion", {"prompt": prompt, "n_predict": 2})["timings"]
        assert timings["prompt_n"] + timings["cache_n"] == size
    for _ in range(2):
        timings = server.ok("/completion", {"prompt": MEANING, "n_predict": 2})["timings"]
        assert timings["prompt_n"] + timings["cache_n"] == count
    assert timings["cache_n"] == count - 1


def test_end_tokens_can_be_ignored(server: Client) -> None:
    body = {"prompt": MEANING, "n_predict": 8}
    with_bias = server.ok("/completion", {**body, "ignore_eos": True})["generation_settings"]["logit_bias"]
    assert with_bias
    assert all(item["bias"] is None and isinstance(item["token"], int) for item in with_bias)
    assert server.ok("/completion", {**body, "ignore_eos": False})["generation_settings"]["logit_bias"] == []


@pytest.mark.parametrize(
    ("flags", "n_predict", "count", "truncated"),
    [(("--context-shift",), 96, 96, True), ((), 64, 64, False), ((), -1, 248, True)],
)
def test_context_shift(host: Host, flags: tuple[str, ...], n_predict: int, count: int, truncated: bool) -> None:
    hosted = host("-c", "256", "-np", "1", "-n", "-1", *flags)
    prompt: Any = "Hi how are you"
    if flags:
        ids = hosted.ok("/tokenize", {"content": "once upon a time there was " * 60, "add_special": True})["tokens"]
        prompt = ids[:226]
    body = {"prompt": prompt, "n_predict": n_predict, "ignore_eos": True, "cache_prompt": False}
    answer = hosted.ok("/completion", body)
    assert answer["truncated"] is truncated
    assert answer["timings"]["predicted_n"] == count
    if count == 248:
        assert (answer["timings"]["prompt_n"], answer["stop_type"]) == (8, "limit")


@pytest.mark.parametrize("flags", [(), ("--context-shift",)])
@pytest.mark.parametrize("stream", [False, True])
def test_a_long_prompt_is_refused_even_when_the_context_shifts(
    host: Host, flags: tuple[str, ...], stream: bool
) -> None:
    hosted = host("-c", "256", "-np", "1", "-n", "-1", *flags)
    reply = hosted.post("/completion", {"prompt": "once upon a time there was " * 60, "n_predict": 8, "stream": stream})
    assert reply.status == 400
    assert "exceeds the available context size" in reply.error["message"]
    assert reply.error["n_ctx"] == 256
    assert reply.error["n_prompt_tokens"] > 256


def test_a_stream_that_fills_the_context(host: Host) -> None:
    hosted = host("-c", "256", "-np", "1", "-n", "-1")
    chunks = hosted.stream("/v1/completions", {"prompt": "Hi how are you", "ignore_eos": True})[:-1]
    reasons = [chunk["choices"][0]["finish_reason"] for chunk in chunks if chunk["choices"]]
    assert reasons[-1] == "length"
    assert set(reasons[:-1]) == {None}


def test_timings_are_finite(server: Client) -> None:
    for n in (0, 1, 2):
        timings = server.ok("/completion", {"prompt": MEANING, "n_predict": n})["timings"]
        assert all(math.isfinite(value) and value >= 0 for value in timings.values())


def test_two_texts_at_once_do_not_wait_for_each_other(server: Client) -> None:
    seen: list[Any] = []
    threads = [
        threading.Thread(target=lambda: seen.append(server.ok("/completion", {"prompt": "a", "n_predict": 60})))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen[0]["content"] == seen[1]["content"]
    assert len(seen) == 2
