"""Complaints about other servers (sampling, streams, completions, caches, HTTP): those that only a whole server shows,
and the table that says where each of the others is held."""

import json
import os
import subprocess
import time
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import Host
from tests.acceptance.hosting import Client
from tests.running import ROOT, RunningServer, free_port
from tests.web.test_process import GUNICORN

KINDS = ("3 ", "7 ", "8 ", "9 ", "10 ")
HERE = "tests/acceptance/"
HELD = {
    "B041": "tests/web/test_reports.py::test_stop_texts_are_found_across_tokens",
    "B043": "tests/web/test_reports.py::test_stop_texts_are_found_across_tokens",
    "B045": "tests/web/test_text.py::test_half_a_character_at_the_limit_reads_the_same_both_ways",
    "B048": HERE + "test_llama_server_chat.py::test_a_chat_that_is_too_long",
    "B050": "tests/web/test_reports.py::test_every_event_is_one_line_and_a_blank_one",
    "B051": "tests/web/test_reports.py::test_answers_pass_the_types_of_the_openai_package",
    "B053": "tests/web/test_process.py::test_a_stream_that_is_left_frees_its_slot",
    "B054": "tests/web/test_process.py::test_a_waiting_request_that_is_left_never_starts_and_hurts_nobody",
    "B055": "tests/web/test_chat.py::test_tool_calls_whole_and_streamed",
    "B056": HERE + "test_pages.py::test_required_and_named_tool_choice",
    "B057": "tests/web/test_chat.py::test_tool_calls_whole_and_streamed",
    "B107": HERE + "test_reports.py::test_without_a_seed_texts_differ",
    "B108": HERE + "test_reports.py::test_a_greedy_text_is_the_same_whatever_is_cached",
    "B109": HERE + "test_reports.py::test_a_greedy_text_is_the_same_in_company",
    "B111": "tests/sampling/test_sampler.py::test_filters_see_the_probabilities_before_temperature",
    "B112": "tests/sampling/test_sampler.py::test_temperature_zero_takes_the_first_of_the_largest",
    "B114": "tests/sampling/test_sampler.py::test_penalties_count_the_prompt_and_each_by_its_own_rule",
    "B116": HERE + "test_llama_server_chat.py::test_log_probabilities_of_chat",
    "B118": HERE + "test_pages.py::test_choices_of_one_prompt",
    "B122": "tests/web/test_text.py::test_shapes_of_prompts",
    "B123": "tests/web/test_reports.py::test_the_empty_prompt_with_and_without_a_first_token",
    "B124": "tests/web/test_text.py::test_suffix_fills_the_middle",
    "B125": "tests/web/test_chat.py::test_user_text_is_not_read_as_control_tokens",
    "B127": "tests/web/test_reports.py::test_no_limit_unless_asked",
    "B129": "tests/web/test_reports.py::test_the_first_token_is_never_doubled",
    "B130": "tests/web/test_text.py::test_a_model_that_never_ends_stops_at_the_end_of_the_context",
    "B131": "tests/engine/test_soak.py::test_nobody_ever_gets_anything_of_another",
    "B134": HERE + "test_reports.py::test_conversations_in_turn_keep_their_caches",
    "B135": HERE + "test_reports.py::test_a_tool_loop_only_appends",
    "B136": "tests/engine/test_context.py::test_a_prompt_that_does_not_fit_is_refused_at_once_with_the_counts",
    "B137": "tests/engine/test_context.py::test_a_full_context_is_shifted_when_that_is_wanted",
    "B139": HERE + "test_reports.py::test_health_answers_while_a_long_prompt_is_read",
    "B140": "tests/engine/test_pace.py::test_a_long_prompt_does_not_stop_a_running_stream",
    "B142": "tests/web/test_text.py::test_bytes_that_are_no_text_become_replacement_characters",
    "B143": HERE + "test_odd_http.py::test_bodies_are_refused_in_json",
    "B146": HERE + "test_llama_server_chat.py::test_keys",
    "B149": HERE + "test_reports.py::test_streams_outlive_the_timeout_of_gunicorn",
    "B150": "tests/web/test_process.py::test_streams_run_side_by_side_and_arrive_as_they_are_made",
    "B151": "tests/web/test_http.py::test_loading_is_503_everywhere",
    "B153": "tests/web/test_reports.py::test_answers_pass_the_types_of_the_openai_package",
    "B154": "tests/chat/test_limits.py::test_hostile_templates_are_refused",
    "B156": "tests/modelfile/test_hostile.py::test_damaged_files_open_or_are_refused",
    "B157": "tests/modelfile/test_file.py::test_a_large_vocabulary_opens_at_once",
}


def test_every_report_has_a_test(shared: Path) -> None:
    lines = (shared / "cases" / "bugs" / "reports.jsonl").read_text().splitlines()
    ids = {report["id"] for report in map(json.loads, lines) if report["kind"].startswith(KINDS)}
    assert ids == HELD.keys()
    for number, place in HELD.items():
        path, _, name = place.partition("::")
        assert f"def {name}(" in (ROOT / path).read_text(), number


@pytest.mark.parametrize("seed", [{}, {"seed": None}, {"seed": -1}, {"seed": 4294967295}])
def test_without_a_seed_texts_differ(host: Host, seed: dict[str, Any]) -> None:
    hosted = host("-n", "24", preset=False)
    texts = {
        hosted.ok("/v1/completions", {"prompt": "Once", "temperature": 1.5, **seed})["choices"][0]["text"]
        for _ in "abc"
    }
    assert len(texts) > 1


@pytest.mark.parametrize("seed", [2**32, -5, 1.5, 2**63, "1", 10**30])
def test_odd_seeds_are_taken_or_refused(server: Client, seed: Any) -> None:
    assert server.post("/v1/completions", {"prompt": "a", "max_tokens": 1, "seed": seed}).status in (200, 400)


def story(word: str, n: int) -> list[int]:
    """A prompt of n token ids that begins with a word of its own."""
    return [1, *(259 + (ord(word[0]) * 7 + i * i * 13) % 250 for i in range(n - 1))]


def test_a_greedy_text_is_the_same_whatever_is_cached(host: Host) -> None:
    hosted = host("-c", "2048", "-np", "2", "--kv-unified")
    prompt = story("q", 300)
    half = prompt[:150] + story("z", 150)
    body = {"prompt": prompt, "temperature": 0, "n_predict": 32, "cache_prompt": False}
    cold = hosted.ok("/completion", body)
    warm = {**body, "cache_prompt": True}
    found = [hosted.ok("/completion", warm) for _ in range(2)]
    found.append(hosted.ok("/completion", body))
    hosted.ok("/completion", {**warm, "prompt": story("u", 400)})
    hosted.ok("/completion", {**warm, "prompt": half})
    found.append(hosted.ok("/completion", warm))
    assert {answer["content"] for answer in found} == {cold["content"]}
    assert found[1]["timings"]["cache_n"] == 299


def test_a_greedy_text_is_the_same_in_company(host: Host) -> None:
    hosted = host("-c", "2048", "-np", "4", "--kv-unified")
    bodies = [{"prompt": story(word, 60), "temperature": 0, "n_predict": 32, "cache_prompt": False} for word in "abcd"]
    alone = [hosted.ok("/completion", body)["content"] for body in bodies]
    with ThreadPoolExecutor(4) as pool:
        same = list(pool.map(lambda _: hosted.ok("/completion", bodies[0])["content"], range(4)))
        different = list(pool.map(lambda body: hosted.ok("/completion", body)["content"], bodies))
    assert same == [alone[0]] * 4
    assert different == alone


def test_conversations_in_turn_keep_their_caches(host: Host) -> None:
    hosted = host("-c", "2048", "-np", "2", "--kv-unified")
    common = story("s", 25)
    first = {name: common + story(name, 475) for name in "mn"}
    for prompt in first.values():
        hosted.ok("/completion", {"prompt": prompt, "n_predict": 1})
    for name, prompt in first.items():
        answer = hosted.ok("/completion", {"prompt": prompt + story(name, 51)[1:], "n_predict": 1})
        assert answer["timings"]["cache_n"] >= 500


def called(number: int, name: str, arguments: str) -> dict[str, Any]:
    """A turn of the assistant that calls a tool."""
    call = {"id": f"call0000{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


PARAMETERS = {"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "integer"}}, "required": ["b"]}
TOOLS = [
    {"type": "function", "function": {"name": name, "description": "Does it.", "parameters": PARAMETERS}}
    for name in ("look", "sum")
]
TURNS: list[dict[str, Any]] = [
    {"role": "system", "content": "Today is Monday."},
    {"role": "user", "content": "go"},
    called(1, "look", '{"b": "x", "a": 2}'),
    {"role": "tool", "tool_call_id": "call00001", "name": "look", "content": "3"},
    called(2, "sum", '{"b": "y"}'),
    {"role": "tool", "tool_call_id": "call00002", "name": "sum", "content": "4"},
    {"role": "assistant", "content": "It is 3."},
    {"role": "user", "content": "and then?"},
]


@pytest.mark.parametrize(
    "name", ["Qwen-Qwen2.5-7B-Instruct", "meta-llama-Llama-3.1-8B-Instruct", "openai-gpt-oss-120b", "Kimi-K2-Instruct"]
)
def test_a_tool_loop_only_appends(host: Host, shared: Path, name: str) -> None:
    """Each turn's prompt begins with the one before, so that all of that is cached; where it does not is reported."""
    template = shared / "chat" / "templates" / f"{name}.jinja"
    hosted = host("-c", "8192", "-np", "1", "--chat-template-file", str(template), preset=False)

    def prompt(turns: list[dict[str, Any]], generation: bool = False) -> str:
        body = {"messages": turns, "tools": TOOLS, "add_generation_prompt": generation}
        return str(hosted.ok("/apply-template", body)["prompt"])

    def ids(turns: list[dict[str, Any]]) -> list[int]:
        body = {"content": prompt(turns, True), "add_special": True}
        return list(hosted.ok("/tokenize", body)["tokens"])

    def ask(turns: list[dict[str, Any]]) -> Any:
        body = {"messages": turns, "tools": TOOLS, "max_tokens": 1, "temperature": 0}
        return hosted.ok("/v1/chat/completions", body)

    prompts = [prompt(TURNS[:count]) for count in (2, 4, 6, 8)]
    assert [prompt(TURNS[:count]) for count in (2, 4, 6, 8)] == prompts
    for earlier, later in pairwise(prompts):
        assert later.startswith(earlier)
        assert len(later) > len(earlier)
    before: list[int] = []
    for turns in (TURNS[:2], TURNS[:4], TURNS[:6], TURNS, [{**TURNS[0], "content": "Today is Tuesday."}, *TURNS[1:]]):
        now, answer = ids(turns), ask(turns)
        shared_start = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, now, strict=False)))
        assert answer["usage"]["prompt_tokens"] == len(now)
        assert answer["usage"]["prompt_tokens_details"]["cached_tokens"] == shared_start
        assert answer["timings"]["cache_n"] == shared_start
        before = now
    assert 0 < shared_start < len(ids(TURNS[:2]))  # the day stands in the first turn


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """gunicorn with a slow scripted model, whose patience with silent workers is two seconds."""
    port = free_port()
    env = {**os.environ, "LLAMA_ARG_PORT": str(port), "LLAMA_ARG_CTX_SIZE": "8192", "LLAMA_ARG_N_PARALLEL": "3"}
    env["LLAMA_ARG_ENDPOINT_METRICS"] = "1"
    command = [*GUNICORN[:3], *GUNICORN[3:-1], "--timeout", "2", GUNICORN[-1]]
    log = tmp_path_factory.mktemp("slow") / "log"
    with RunningServer(log, command=command, port=port, env=env) as running:
        yield running


def test_streams_outlive_the_timeout_of_gunicorn(slow: RunningServer) -> None:
    """A stream, a whole answer and the reading of a prompt, all at once, each twice as long as the timeout and more."""
    client = Client(slow.port)
    started = client.get("/metrics").headers["Process-Start-Time-Unix"]
    body = {"prompt": "x", "max_tokens": 220}  # 20 ms a token
    reading = {"prompt": "y" * 900, "max_tokens": 2}  # 5 ms a token
    with ThreadPoolExecutor(3) as pool:
        whole = pool.submit(client.ok, "/v1/completions", body)
        read = pool.submit(client.ok, "/v1/completions", reading)
        chunks = pool.submit(client.stream, "/v1/completions", body).result()
    assert chunks[-1] == "[DONE]"
    assert chunks[-2]["choices"][0]["finish_reason"] == "length"
    assert whole.result()["usage"]["completion_tokens"] == 220
    assert "".join(chunk["choices"][0]["text"] for chunk in chunks[:-1]) == whole.result()["choices"][0]["text"]
    assert read.result()["usage"]["prompt_tokens"] == 900
    times = [answer.result()["timings"] for answer in (whole, read)]
    assert all(sum(t[name] for name in ("prompt_ms", "predicted_ms")) > 4000 for t in times)  # the premise
    assert client.get("/metrics").headers["Process-Start-Time-Unix"] == started  # the same worker, never another
    assert b"WORKER TIMEOUT" not in slow.log.read_bytes()


def test_health_answers_while_a_long_prompt_is_read(stories: str, tmp_path: Path) -> None:
    """4,000 tokens are read by numpy, which holds the interpreter's lock for a good part of the time."""
    flags = ["-c", "8192", "-np", "1", "-b", "512", "--metrics", "--kernels", "numpy"]
    with RunningServer(tmp_path / "log", "-m", stories, *flags) as process, ThreadPoolExecutor(1) as pool:
        client = Client(process.port)
        body = {"prompt": story("h", 4000), "n_predict": 1}
        waits: list[float] = []
        while len(waits) < 20:  # of several prompts, where the machine is fast
            answer = pool.submit(client.ok, "/completion", {**body, "cache_prompt": False})
            _while_reading(client, answer, waits)
            assert answer.result()["timings"]["prompt_n"] == 4000
        assert sorted(waits)[len(waits) // 2] < 0.2


def _while_reading(client: Client, answer: Future[Any], waits: list[float]) -> None:
    """Ask again and again until the answer is there; note how long those waited that the reading did not outlast."""
    while not answer.done():
        for path in ("/health", "/v1/models", "/metrics", "/slots"):
            begun = time.monotonic()
            assert client.get(path).status == 200
            if not answer.done():
                waits.append(time.monotonic() - begun)


def test_unknown_flags_name_the_nearest(stories: str) -> None:
    command = [*GUNICORN[:1], "app.py", "-m", stories, "--ctx-sise", "5"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert "--ctx-size" in ended.stderr
