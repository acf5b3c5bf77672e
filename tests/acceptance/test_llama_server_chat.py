"""What llama-server's own tests hold of chat, of the neighbours, of keys, slots and metrics, on the same tiny model."""

import json
import math
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.acceptance.conftest import Host
from tests.acceptance.hosting import Client, Reply
from tests.running import RunningServer

CHAT = "/v1/chat/completions"
BOOK = [{"role": "system", "content": "Book"}, {"role": "user", "content": "What is the best book"}]
SUNS = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]


@pytest.fixture
def wide(host: Host) -> Client:
    """Room for long templates."""
    return host("-c", "4096", "-np", "2", "--kv-unified")


def test_the_counts_of_a_chat(wide: Client) -> None:
    for n in (8, 64):
        answer = wide.ok(CHAT, {"messages": BOOK, "max_tokens": n, "ignore_eos": True})
        assert "cmpl" in answer["id"]
        assert answer["system_fingerprint"].startswith("b")
        assert answer["usage"]["prompt_tokens"] == 77  # ChatML, as llama-server counts it
        assert answer["usage"]["completion_tokens"] == n
        assert answer["choices"][0]["finish_reason"] == "length"
        assert answer["model"] == "tinyllama-2"


def test_cached_tokens(host: Host) -> None:
    fresh = host("-c", "4096", "-np", "1", "--no-cache-idle-slots")
    usage = [fresh.ok(CHAT, {"messages": BOOK, "max_tokens": 8})["usage"] for _ in range(2)]
    assert [u["prompt_tokens"] for u in usage] == [77, 77]
    assert [u["prompt_tokens_details"]["cached_tokens"] for u in usage] == [0, 76]
    other = [BOOK[0], {"role": "user", "content": "What is the best movie"}]
    third = fresh.ok(CHAT, {"messages": other, "max_tokens": 8})["usage"]
    assert 40 < third["prompt_tokens_details"]["cached_tokens"] < 77


def test_typed_content_is_joined(server: Client) -> None:
    parts = [{"type": "text", "text": "What is"}, {"type": "text", "text": "the best book"}]
    typed = server.ok("/apply-template", {"messages": [{"role": "user", "content": parts}]})
    plain = server.ok("/apply-template", {"messages": [{"role": "user", "content": "What is\nthe best book"}]})
    assert typed == plain
    assert typed.keys() == {"prompt"}


def test_templates_by_name(host: Host) -> None:
    hosted = host("--chat-template", "llama3", "-c", "4096")
    answer = hosted.ok(CHAT, {"messages": BOOK, "max_tokens": 2, "verbose": True})
    assert answer["__verbose"]["prompt"] == (
        "<s> <|start_header_id|>system<|end_header_id|>\n\nBook<|eot_id|>"
        "<|start_header_id|>user<|end_header_id|>\n\nWhat is the best book<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n"
    )
    assert "__verbose" not in hosted.ok(CHAT, {"messages": BOOK, "max_tokens": 2, "verbose": False})
    command = host("--chat-template", "command-r", "-c", "4096")
    prompt = command.ok("/apply-template", {"messages": BOOK})["prompt"]
    assert prompt == (
        "<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>Book<|END_OF_TURN_TOKEN|>"
        "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>What is the best book<|END_OF_TURN_TOKEN|>"
        "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>"
    )


@pytest.mark.parametrize("content", ["Whill", [{"type": "text", "text": "Wh"}, {"type": "text", "text": "ill"}]])
def test_the_assistant_is_continued(server: Client, content: Any) -> None:
    messages = [*BOOK, {"role": "assistant", "content": content}]
    prompt = server.ok("/apply-template", {"messages": messages})["prompt"]
    assert prompt.endswith("<|im_start|>assistant\nWhill" if content == "Whill" else "assistant\nWh\n\nill")
    explicit = {"messages": messages, "add_generation_prompt": False, "continue_final_message": True}
    assert server.ok("/apply-template", explicit)["prompt"] == prompt
    assert server.post("/apply-template", {**explicit, "add_generation_prompt": True}).status == 400
    assert server.post("/apply-template", {"messages": [*messages, messages[-1]]}).status == 400


@pytest.mark.parametrize(
    ("format", "pattern"),
    [
        ({"type": "json_object", "schema": {"const": "42"}}, r'"42"'),
        ({"type": "json_object", "schema": {"type": "array", "items": {"enum": [1]}, "minItems": 1}}, r"\[ ?1.*"),
        ({"type": "json_schema", "json_schema": {"schema": {"const": "foooooo"}}}, r'"foooooo"'),
        ({"type": "json_object"}, r"\{.*"),
        ({"type": "sound"}, None),
        ({"type": "json_object", "schema": 123}, None),
        ({"type": 123}, None),
        ({"type": "json_object", "schema": {"type": "hiccup"}}, None),
    ],
)
def test_response_formats(server: Client, format: dict[str, Any], pattern: str | None) -> None:
    reply = server.post(
        CHAT, {"messages": [{"role": "user", "content": "Hi"}], "response_format": format, "max_tokens": 20}
    )
    if pattern is None:
        assert reply.status == 400
        assert reply.error["message"]
    else:
        assert re.match(pattern, reply.json["choices"][0]["message"]["content"], re.DOTALL)


@pytest.mark.parametrize(
    ("extra", "text"),
    [({"json_schema": {"const": "42"}}, '"42"'), ({"grammar": 'root ::= "a"{5,5}'}, "aaaaa"), ({"grammar": "("}, None)],
)
def test_rules_at_the_top_of_the_body(server: Client, extra: dict[str, Any], text: str | None) -> None:
    reply = server.post(CHAT, {"messages": SUNS, "max_tokens": 20, **extra})
    assert reply.status == (400 if text is None else 200)
    if text is not None:
        assert reply.json["choices"][0]["message"]["content"] == text


@pytest.mark.parametrize(
    "messages",
    [
        None,
        "hi",
        [123],
        [{}],
        [{"role": 123}],
        [{"role": "system", "content": 123}],
        [{"role": "system", "content": "a"}, {}],
        [{"role": "user", "content": "a"}, *[{"role": "assistant", "content": "b"}] * 2],
        [],
        {},
        [None],
        [{"role": "user"}],
        [{"role": "user", "content": [{"type": "smell"}]}],
        [{"role": "user", "content": [1]}],
        [{"role": "assistant"}],
    ],
)
def test_messages_that_are_none(server: Client, messages: Any) -> None:
    for path in (CHAT, "/apply-template"):
        reply = server.post(path, {"messages": messages, "max_tokens": 1})
        assert (reply.status, reply.error["type"]) == (400, "invalid_request_error")


def test_timings_of_every_chunk(server: Client) -> None:
    chunks = server.stream(CHAT, {"messages": SUNS, "max_tokens": 10, "timings_per_token": True})[:-1]
    counts = [chunk["timings"]["predicted_n"] for chunk in chunks[1:]]
    assert counts == sorted(counts)
    assert all(math.isfinite(value) for chunk in chunks[1:] for value in chunk["timings"].values())


def test_log_probabilities_of_chat(process: RunningServer) -> None:
    with openai.OpenAI(api_key="dummy", base_url=f"{process.url}/v1", max_retries=0) as client:
        ask: dict[str, Any] = {"model": "m", "messages": SUNS, "max_tokens": 8, "logprobs": True, "top_logprobs": 10}
        choice = client.chat.completions.create(**ask, temperature=0.0).choices[0]
        assert choice.logprobs is not None
        assert choice.logprobs.content is not None
        assert "".join(item.token for item in choice.logprobs.content) == choice.message.content
        for item in choice.logprobs.content:
            assert item.logprob <= 0
            assert item.bytes == list(item.token.encode())
            assert len(item.top_logprobs) == 10
        streamed = ""
        for chunk in client.chat.completions.create(**ask, temperature=0.0, stream=True):
            if chunk.choices and chunk.choices[0].delta.content:
                assert chunk.choices[0].logprobs is not None
                streamed += "".join(item.token for item in chunk.choices[0].logprobs.content or ())
        assert streamed == choice.message.content
    zero = {"messages": SUNS, "max_tokens": 3, "logprobs": True, "top_logprobs": 0}
    reply = Client(process.port).ok(CHAT, zero)["choices"][0]["logprobs"]["content"]
    assert [item["top_logprobs"] for item in reply] == [[], [], []]


def test_top_logprobs_alone_is_refused(server: Client) -> None:
    reply = server.post(CHAT, {"messages": SUNS, "max_tokens": 1, "top_logprobs": 3})
    assert (reply.status, "logprobs" in reply.error["message"]) == (400, True)


@pytest.mark.parametrize("stream", [False, True])
def test_a_chat_that_is_too_long(server: Client, stream: bool) -> None:
    messages = [{"role": "user", "content": "a " * 1000}]
    error = server.post(CHAT, {"messages": messages, "stream": stream}).error
    assert (error["type"], error["code"], error["n_ctx"]) == ("exceed_context_size_error", 400, 256)
    assert error["n_prompt_tokens"] > 256


@pytest.mark.parametrize(("size", "warm"), [(64, False), (16, True)])
def test_progress(host: Host, size: int, warm: bool) -> None:
    hosted = host("-ub", str(size), "-np", "1", "--kv-unified")
    body = {"messages": [{"role": "user", "content": f"{size} time " * 30}], "max_tokens": 4, "return_progress": True}
    if warm:
        hosted.ok(CHAT, {**body, "messages": [{"role": "user", "content": f"{size} time " * 20}]})
    chunks = hosted.stream(CHAT, body)[:-1]
    found = [chunk["prompt_progress"] for chunk in chunks if "prompt_progress" in chunk]
    assert found[0]["processed"] == found[0]["cache"]
    assert (found[0]["cache"] > 0) is warm
    assert found[-1]["processed"] == found[-1]["total"]
    assert len({item["total"] for item in found}) == 1
    assert [item["processed"] for item in found] == sorted(item["processed"] for item in found)
    assert all(item["time_ms"] >= 0 for item in found)
    assert found[0]["time_ms"] <= found[-1]["time_ms"]


def test_two_choices_on_a_named_slot(server: Client) -> None:
    for _ in range(2):
        choices = server.ok(CHAT, {"messages": SUNS, "max_tokens": 8, "n": 2, "id_slot": 0, "ignore_eos": True})[
            "choices"
        ]
        assert [choice["finish_reason"] for choice in choices] == ["length", "length"]


@pytest.mark.parametrize("path", ["/chat/completions/input_tokens", "/v1/chat/completions/input_tokens"])
def test_counting(server: Client, path: str) -> None:
    answer = server.ok(path, {"messages": SUNS})
    assert answer["object"] == "response.input_tokens"
    assert answer["input_tokens"] == server.ok(CHAT, {"messages": SUNS, "max_tokens": 1})["usage"]["prompt_tokens"]
    assert server.ok("/v1/responses/input_tokens", {"input": "Hi"})["input_tokens"] > 5
    assert server.ok("/v1/messages/count_tokens", {"messages": SUNS[1:]})["input_tokens"] > 5


def test_tokens_and_text(server: Client) -> None:
    text = "What is the capital of France ?"
    tokens = server.ok("/tokenize", {"content": text})["tokens"]
    assert server.ok("/detokenize", {"tokens": tokens})["content"].strip() == text
    assert server.ok("/tokenize", {"content": text, "add_special": True})["tokens"] == [1, *tokens]
    for content in ("This is a test string", "媽", "🙃", "é\u0000x"):
        items = server.ok("/tokenize", {"content": content, "with_pieces": True})["tokens"]
        assert all(item["id"] > 0 and item["piece"] for item in items)
        pieces = [item["piece"].encode() if isinstance(item["piece"], str) else bytes(item["piece"]) for item in items]
        assert b"".join(pieces).decode().strip(" ") == content
    assert server.ok("/tokenize", {}) == {"tokens": []}
    assert server.ok("/detokenize", {})["content"] == ""
    mixed = server.ok("/tokenize", {"content": [1, "hello", 2]})["tokens"]
    assert (mixed[0], mixed[-1]) == (1, 2)
    for body in ({"tokens": [10**6]}, {"tokens": ["x"]}, {"tokens": "x"}, {"tokens": [-1]}):
        assert server.post("/detokenize", body).status == 400
    assert server.post("/tokenize", {"content": {"a": 1}}).status == 400


def test_what_the_server_says_of_itself(server: Client, stories: str) -> None:
    props = server.get("/props").json
    assert props["model_path"] == stories
    assert props["total_slots"] == 2
    assert props["default_generation_settings"]["n_ctx"] == 256
    assert props["default_generation_settings"]["params"]["seed"] == 42
    keys = "default_generation_settings total_slots model_alias model_ftype model_path modalities media_marker "
    keys += "endpoint_slots endpoint_props endpoint_metrics ui ui_settings chat_template chat_template_caps bos_token "
    keys += "eos_token build_info is_sleeping cors_proxy_enabled"
    assert props.keys() >= set(keys.split())
    for path in ("/v1/models", "/models"):
        models = server.get(path).json
        assert [item["id"] for item in models["data"]] == ["tinyllama-2"]
        assert models["data"][0]["meta"].keys() >= {
            "vocab_type",
            "n_vocab",
            "n_ctx_train",
            "n_embd",
            "n_params",
            "size",
        }
        assert server.get(f"{path}/tinyllama-2").json["id"] == "tinyllama-2"
        assert server.get(f"{path}/other").status == 404


def test_slots(host: Host, server: Client) -> None:
    off = host("--no-slots").get("/slots")
    assert (off.status, off.error["type"]) == (501, "not_supported_error")
    fresh = host("--metrics").get("/slots").json
    assert [(slot["id"], slot["n_ctx"], slot["is_processing"]) for slot in fresh] == [(0, 256, False), (1, 256, False)]
    assert not any("params" in slot for slot in fresh)
    server.ok("/completion", {"prompt": "a", "n_predict": 2, "id_slot": 1})
    used = server.get("/slots").json[1]
    assert used["next_token"][0].keys() >= {"has_next_token", "has_new_line", "n_remain", "n_decoded"}
    assert (used["next_token"][0]["n_remain"], used["next_token"][0]["n_decoded"]) == (-1, 0)
    assert "prompt" not in used
    assert "stop" not in used["params"]
    assert server.get("/slots?fail_on_no_slot=1").status == 200


def test_aliases(host: Host) -> None:
    data = host("--alias", "tinyllama-2,fim,code", "--tags", "a,b").get("/v1/models").json["data"]
    assert len(data) == 1
    assert (data[0]["id"], set(data[0]["aliases"])) == ("code", {"tinyllama-2", "fim", "code"})
    assert set(data[0]["tags"]) == {"a", "b"}


def test_keys(host: Host) -> None:
    hosted = host("--api-key", "sk-1,sk-2")
    assert hosted.get("/health").status == hosted.get("/v1/health").status == hosted.get("/").status == 200
    for key in ("", "sk-3"):
        reply = hosted.post("/completions", {"prompt": "a", "n_predict": 1}, Authorization=f"Bearer {key}")
        assert (reply.status, reply.error["type"]) == (401, "authentication_error")
        assert hosted.get("/v1/models", Authorization=f"Bearer {key}").status == 401
    assert "content" in hosted.post("/completions", {"prompt": "a", "n_predict": 1}, Authorization="Bearer sk-2").json
    assert hosted.post("/completions", {"prompt": "a", "n_predict": 1}, **{"X-Api-Key": "sk-1"}).status == 200
    with openai.OpenAI(api_key="sk-1", base_url=f"http://127.0.0.1:{hosted.port}", max_retries=0) as client:
        assert client.chat.completions.create(model="m", messages=SUNS, max_tokens=2).choices  # type: ignore[arg-type]
    with (
        openai.OpenAI(api_key="no", base_url=f"http://127.0.0.1:{hosted.port}", max_retries=0) as client,
        pytest.raises(openai.AuthenticationError),
    ):
        client.models.list()


@pytest.mark.parametrize("origin", ["localhost", "web.mydomain.fr", "http://a.b:80"])
def test_preflight(host: Host, origin: str) -> None:
    hosted = host("--api-key", "sk-1,sk-2")
    asked = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "Authorization",
    }
    reply = hosted.ask("OPTIONS", "/completions", headers=asked)
    assert (reply.status, reply.raw) == (200, b"")
    assert reply.headers["Access-Control-Allow-Origin"] == origin
    assert reply.headers["Access-Control-Allow-Credentials"] == "true"
    assert reply.headers["Access-Control-Allow-Methods"] == "GET, POST, DELETE, OPTIONS"
    assert reply.headers["Access-Control-Allow-Headers"] == "*"
    assert hosted.get("/v1/models", Origin=origin).headers["Access-Control-Allow-Origin"] == origin


def samples(reply: Reply) -> dict[str, float]:
    assert reply.status == 200
    return {
        line.split()[0]: float(line.split()[1]) for line in reply.raw.decode().splitlines() if not line.startswith("#")
    }


COUNTERS = "prompt_tokens_total prompt_tokens_cached_total prompt_seconds_total tokens_predicted_total "
COUNTERS += "tokens_predicted_seconds_total n_decode_total"
GAUGES = "prompt_tokens_seconds predicted_tokens_seconds requests_processing requests_deferred n_busy_slots_per_decode"


def test_metrics(host: Host) -> None:
    assert host("--no-slots").get("/metrics").status == 501
    hosted = host("--metrics", "-np", "1")
    reply = hosted.get("/metrics")
    assert reply.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert float(reply.headers["Process-Start-Time-Unix"]) > 1e9
    text = reply.raw.decode()
    for kind, names in (("counter", COUNTERS + " n_tokens_max"), ("gauge", GAUGES)):
        for name in names.split():
            assert f"# HELP llamacpp:{name} " in text
            assert f"# TYPE llamacpp:{name} {kind}\n" in text
    before = samples(reply)
    times = [hosted.ok("/completion", {"prompt": "Once upon a time", "n_predict": n})["timings"] for n in (1, 16, 16)]
    after = samples(hosted.get("/metrics"))
    grown = {name: after[f"llamacpp:{name}"] - before[f"llamacpp:{name}"] for name in COUNTERS.split()}
    assert grown["prompt_tokens_total"] == sum(t["prompt_n"] for t in times)
    assert grown["prompt_tokens_cached_total"] == sum(t["cache_n"] for t in times)
    assert grown["tokens_predicted_total"] == sum(t["predicted_n"] for t in times)
    assert (times[0]["predicted_per_second"], times[0]["predicted_per_token_ms"]) == (0.0, 0.0)
    assert times[1]["predicted_per_second"] == pytest.approx(1e3 / times[1]["predicted_ms"] * 15)


def test_slots_on_disk(server: Client) -> None:
    text = "Once upon a time there was a little girl who lived in a big house near the forest and the river. " * 2
    first = server.ok("/completion", {"prompt": text, "id_slot": 1, "n_predict": 4, "temperature": 0})
    saved = server.ok("/slots/1?action=save", {"filename": "slot1.bin"})
    assert (saved["id_slot"], saved["filename"]) == (1, "slot1.bin")
    assert saved["n_saved"] == first["tokens_cached"]
    assert server.ok("/slots/1?action=erase", {})["n_erased"] == saved["n_saved"]
    restored = server.ok("/slots/0?action=restore", {"filename": "slot1.bin"})
    assert (restored["n_restored"], restored["n_read"]) == (saved["n_saved"], saved["n_written"])
    again = server.ok("/completion", {"prompt": text, "id_slot": 0, "n_predict": 4, "temperature": 0})
    assert again["content"] == first["content"]
    assert again["timings"]["prompt_n"] == 1
    cold = server.ok("/completion", {"prompt": text, "n_predict": 4, "temperature": 0, "cache_prompt": False})
    assert cold["content"] == first["content"]


@pytest.mark.parametrize(
    "name",
    ["../x", "a/b", "a\\b", "..", ".", "", ".hidden", "x\u0000y", "/etc/passwd", "C:x", "a" * 300, 5, None, ["a"]],
)
@pytest.mark.parametrize("action", ["save", "restore"])
def test_file_names_that_lead_elsewhere(server: Client, name: Any, action: str) -> None:
    reply = server.post(f"/slots/0?action={action}", {"filename": name})
    assert reply.status == 400
    assert "filename" in reply.error["message"]


@pytest.mark.parametrize("path", ["/slots/0", "/slots/0?action=x", "/slots/x?action=save", "/slots/99?action=erase"])
def test_slots_and_actions_that_do_not_exist(server: Client, path: str) -> None:
    assert server.post(path, {"filename": "a"}).status in (400, 404)
    assert server.post("/slots/0?action=restore", {"filename": "missing.bin"}).status in (400, 404)


def test_a_slot_file_that_is_broken(server: Client, process: RunningServer) -> None:
    folder = process.log.parent / "slots"
    server.ok("/completion", {"prompt": "a b c d e f", "id_slot": 0, "n_predict": 1})
    server.ok("/slots/0?action=save", {"filename": "good.bin"})
    whole = (folder / "good.bin").read_bytes()
    for name, data in (("empty", b""), ("half", whole[: len(whole) // 2]), ("zeros", bytes(len(whole)))):
        (folder / name).write_bytes(data)
        reply = server.post("/slots/0?action=restore", {"filename": name})
        assert reply.status == 400, reply.raw
    assert server.get("/health").status == 200


def test_infill_of_a_model_without_its_tokens(server: Client) -> None:
    good = {"input_prefix": "def f():", "input_suffix": "return 1"}
    reply = server.post("/infill", good)
    assert (reply.status, reply.error["type"]) == (501, "not_supported_error")
    assert reply.error["message"].startswith("Infill is not supported by this model: prefix token is missing.")
    assert server.post("/embedding", {"content": "a"}).status == 501
    assert server.post("/v1/embeddings", {"input": "a"}).status == 501
    assert server.post("/rerank", {"query": "a", "documents": ["b"]}).status == 501
    assert server.post("/props", {}).status == 501


@pytest.mark.parametrize("name", ["bert", "nomic-bert"])
def test_embeddings(host: Host, shared: Path, tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    from tests.models.zoo import zoo_model

    path = zoo_model(name).write(tmp_path_factory.mktemp("zoo"))
    flags = ["-c", "512", "-b", "128", "-ub", "128", "-np", "2", "--embedding"]
    hosted = host(*flags, preset=False, model=str(path))
    same = hosted.ok("/v1/embeddings", {"input": ["a b", "a b", "c"]})
    first, second, third = (item["embedding"] for item in same["data"])
    assert first == second != third
    assert sum(value * value for value in first) == pytest.approx(1.0, abs=1e-4)
    assert same["usage"]["prompt_tokens"] == same["usage"]["total_tokens"] > 3
    shapes = ["a", ["a"], [12, 34], ["a", "b"], ["a", [12, 34]], [[12, 34], [56]], [[12, 34], "b"], [12, "a", 34]]
    counts = [1, 1, 1, 2, 2, 2, 2, 1]
    for shape, count in zip(shapes, counts, strict=True):
        assert len(hosted.ok("/v1/embeddings", {"input": shape})["data"]) == count, shape
    for wrong in ("", [], [[]], {"a": 1}, 5, None, [None], [10**7]):
        assert hosted.post("/v1/embeddings", {"input": wrong}).status == 400, wrong
    long = hosted.post("/v1/embeddings", {"input": "word " * 3000})
    assert long.status == 400
    assert "too large" in long.error["message"] or "exceeds" in long.error["message"]
    with openai.OpenAI(api_key="x", base_url=f"http://127.0.0.1:{hosted.port}/v1", max_retries=0) as client:
        found = client.embeddings.create(model="m", input="a b")  # the library asks for base64
    assert found.data[0].embedding == pytest.approx(first, abs=1e-6)


def test_anthropic(server: Client) -> None:
    ask = {"model": "m", "max_tokens": 8, "messages": [{"role": "user", "content": "Hi"}]}
    answer = server.ok("/v1/messages", ask)
    assert (answer["type"], answer["role"], answer["stop_reason"]) == ("message", "assistant", "max_tokens")
    assert answer["content"][0]["type"] == "text"
    assert answer["usage"]["output_tokens"] == 8
    raw = server.post("/v1/messages", {**ask, "stream": True}).raw.decode()
    names = re.findall(r"^event: (\w+)$", raw, re.MULTILINE)
    assert names[:2] == ["message_start", "content_block_start"]
    assert names[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert "[DONE]" not in raw
    parts = [json.loads(line[6:]) for line in raw.splitlines() if line.startswith("data: ")]
    text = "".join(part["delta"]["text"] for part in parts if part["type"] == "content_block_delta")
    assert text == answer["content"][0]["text"]
    assert server.post("/v1/messages", {"max_tokens": 4}).status == 400


def test_responses(process: RunningServer) -> None:
    with openai.OpenAI(api_key="x", base_url=f"{process.url}/v1", max_retries=0) as client:
        whole = client.responses.create(model="m", input="Hi", max_output_tokens=8, temperature=0.8)
        assert whole.id.startswith("resp_")
        assert whole.output[0].id is not None
        assert whole.output[0].id.startswith("msg_")
        events = list(client.responses.create(model="m", input="Hi", max_output_tokens=8, temperature=0.8, stream=True))
    names = [event.type for event in events]
    assert names[:4] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
    ]
    assert names[-1] in ("response.completed", "response.incomplete")
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert text == whole.output_text
    assert Client(process.port).post("/v1/responses", {"input": "a", "previous_response_id": "resp_1"}).status == 400


def test_a_hundred_at_once(server: Client) -> None:
    def one(number: int) -> tuple[int, str]:
        reply = server.post("/completion", {"prompt": f"Story {number % 5}", "n_predict": 4, "temperature": 0})
        return reply.status, reply.json["content"] if reply.status == 200 else ""

    with ThreadPoolExecutor(100) as pool:
        found = list(pool.map(one, range(100)))
    assert {status for status, _ in found} <= {200, 503}
    assert sum(status == 200 for status, _ in found) >= 64
    for number in range(5):
        assert len({text for i, (status, text) in enumerate(found) if status == 200 and i % 5 == number}) == 1
