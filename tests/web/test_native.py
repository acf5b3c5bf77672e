"""llama-server's own endpoints: /completion, /infill, tokens, slots, properties."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.fakes import ByteVocab, HashModel, ScriptedModel
from tests.web.conftest import MakeClient
from tests.web.wire import events as openai_events


def ask(client: FlaskClient, path: str = "/completion", **body: Any) -> Any:
    response = client.post(path, json={"prompt": "Once", **body})
    assert response.status_code == 200, response.get_data(as_text=True)
    return response.get_json()


def wait_for(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_the_whole_answer(client: FlaskClient) -> None:
    answer = ask(client, n_predict=8)
    assert answer["content"] == " in a sm"
    assert answer["tokens"] == []
    assert (answer["stop"], answer["stop_type"], answer["stopping_word"]) == (True, "limit", "")
    assert (answer["tokens_predicted"], answer["tokens_evaluated"], answer["truncated"]) == (8, 4, False)
    assert answer["prompt"] == "Once"
    assert answer["has_new_line"] is False
    assert answer["generation_settings"]["n_predict"] == 8
    assert answer["generation_settings"]["repeat_penalty"] == 1.0
    assert {"adaptive_target", "adaptive_decay", "samplers", "seed"} <= answer["generation_settings"].keys()
    assert answer["timings"]["predicted_n"] == 8


@pytest.mark.parametrize(("body", "kind"), [({}, "eos"), ({"stop": ["small"]}, "word"), ({"n_predict": 2}, "limit")])
def test_stop_types(client: FlaskClient, body: dict[str, Any], kind: str) -> None:
    answer = ask(client, **body)
    assert answer["stop_type"] == kind
    assert answer["stopping_word"] == ("small" if kind == "word" else "")


def test_the_stream_has_no_done(client: FlaskClient) -> None:
    response = client.post("/completions", json={"prompt": "Once", "n_predict": 5, "n_probs": 3, "stream": True})
    *partials, final = openai_events(response)
    assert "".join(item["content"] for item in partials) == " in a"
    for item in partials:
        assert item["stop"] is False
        assert len(item["tokens"]) == len(item["completion_probabilities"]) == 1
        assert len(item["completion_probabilities"][0]["top_logprobs"]) == 3
    assert final["stop"] is True
    assert (final["content"], final["tokens"]) == ("", [])
    assert final["generation_settings"]["n_predict"] == 5


def test_probabilities(client: FlaskClient) -> None:
    items = ask(client, n_predict=3, n_probs=10)["completion_probabilities"]
    assert len(items) == 3
    assert [item["token"] for item in items] == [" ", "i", "n"]
    assert all(len(item["top_logprobs"]) == 10 and item["logprob"] <= 0 for item in items)
    after = ask(client, n_predict=3, n_probs=10, post_sampling_probs=True, temperature=0)["completion_probabilities"]
    assert [item["prob"] for item in after] == [1.0, 1.0, 1.0]
    assert all("top_probs" in item and "logprob" not in item for item in after)


def test_response_fields(client: FlaskClient) -> None:
    fields = ["content", "generation_settings/n_predict", "prompt", "nothing/here"]
    answer = ask(client, n_predict=2, response_fields=fields)
    assert answer == {"content": " i", "generation_settings/n_predict": 2, "prompt": "Once"}
    assert "timings" in ask(client, n_predict=2, response_fields=[])


def test_several_prompts_give_an_array(client: FlaskClient) -> None:
    answers = client.post("/completion", json={"prompt": ["a", "b"], "n_predict": 2, "n": 2}).get_json()
    assert [answer["index"] for answer in answers] == [0, 1, 2, 3]


def test_return_tokens_and_ignore_eos(client: FlaskClient) -> None:
    answer = ask(client, n_predict=2, return_tokens=True, ignore_eos=True)
    assert answer["tokens"] == [32, 105]
    biases = answer["generation_settings"]["logit_bias"]
    assert ask(client, n_predict=1)["generation_settings"]["logit_bias"] == []
    assert all(item["bias"] is None for item in biases)


def test_infill_builds_the_prompt(make_client: MakeClient) -> None:
    client = make_client({"<fim_prefix>ab<fim_suffix>cd<fim_middle>": "X<|end|>"})
    answer = client.post("/infill", json={"input_prefix": "a", "prompt": "b", "input_suffix": "cd"}).get_json()
    assert answer["content"] == "X"
    assert answer["prompt"].endswith("<fim_prefix>ab<fim_suffix>cd<fim_middle>")
    extra = [{"filename": "m.py", "text": "import x\n"}]
    body = {"input_prefix": "a", "prompt": "b", "input_suffix": "cd", "input_extra": extra, "stream": True}
    final = openai_events(client.post("/infill", json=body))[-1]
    assert final["prompt"].startswith("\n\n--- snippet ---\n\nimport x\n<fim_prefix>")
    turned = make_client({"<fim_suffix>cd<fim_prefix>ab<fim_middle>": "Y<|end|>"}, spm_infill=True)
    answer = turned.post("/infill", json={"input_prefix": "ab", "input_suffix": "cd"}).get_json()
    assert answer["content"] == "Y"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"input_suffix": "x"}, "input_prefix"),
        ({"input_prefix": "x"}, "input_suffix"),
        ({"input_prefix": "x", "input_suffix": "y", "input_extra": {}}, "input_extra"),
        ({"input_prefix": "x", "input_suffix": "y", "input_extra": ["a"]}, "input_extra"),
        ({"input_prefix": "x", "input_suffix": "y", "input_extra": [{"filename": "a"}]}, "input_extra"),
        ({"input_prefix": "x", "input_suffix": "y", "input_extra": [{"text": "a", "filename": 1}]}, "input_extra"),
        ({"input_prefix": "x", "input_suffix": "y", "prompt": 5}, "prompt"),
        ({"input_prefix": 5, "input_suffix": "y"}, "input_prefix"),
    ],
)
def test_infill_refuses(client: FlaskClient, body: dict[str, Any], field: str) -> None:
    response = client.post("/infill", json=body)
    assert response.status_code == 400
    assert response.get_json()["error"]["param"] == field


def test_infill_without_the_tokens_is_501(make_client: MakeClient) -> None:
    client = make_client()
    client.application.extensions["llama"].service.parts.vocab.fim_mid = None
    response = client.post("/infill", json={"input_prefix": "a", "input_suffix": "b"})
    assert response.status_code == 501
    assert response.get_json()["error"]["message"].endswith("middle token is missing.")


def test_tokens_and_back(make_client: MakeClient) -> None:
    client = make_client(ScriptedModel("x", vocab=ByteVocab(add_bos=True)))
    assert ask(client, "/tokenize", content="hé")["tokens"] == [104, 195, 169]
    assert ask(client, "/tokenize", content="h", add_special=True)["tokens"][0] == 256
    pieces = ask(client, "/tokenize", content="hé", with_pieces=True)["tokens"]
    assert pieces == [{"id": 104, "piece": "h"}, {"id": 195, "piece": [195]}, {"id": 169, "piece": [169]}]
    assert ask(client, "/tokenize", content=[1, "h", 2], add_special=True)["tokens"] == [1, 104, 2]
    assert ask(client, "/tokenize", content=["h", 1], add_special=True)["tokens"] == [256, 104, 1]
    assert client.post("/tokenize", json={}).get_json() == {"tokens": []}
    assert ask(client, "/detokenize", tokens=[104, 195, 169])["content"] == "hé"
    assert client.post("/detokenize", json={}).get_json()["content"] == ""


def test_tokens_in_vllm_shape(make_client: MakeClient) -> None:
    client = make_client(ScriptedModel("x", vocab=ByteVocab(add_bos=True)))
    answer = client.post("/tokenize", json={"prompt": "hi", "add_special_tokens": False}).get_json()
    assert (answer["tokens"], answer["count"], answer["max_model_len"]) == ([104, 105], 2, 4096)
    assert client.post("/tokenize", json={"prompt": "hi"}).get_json()["tokens"] == [256, 104, 105]
    assert client.post("/detokenize", json={"tokens": [104, 105]}).get_json()["prompt"] == "hi"
    info = client.get("/tokenizer_info").get_json()
    assert (info["eos_token"], info["bos_token"], info["pad_token"]) == ("</s>", "<s>", "<pad>")
    assert "im_start" in info["chat_template"]


@pytest.mark.parametrize(
    "body", [{"content": 5}, {"content": [None]}, {"content": [-1]}, {"content": "x", "add_special": 1}]
)
def test_tokenize_refuses(client: FlaskClient, body: dict[str, Any]) -> None:
    assert client.post("/tokenize", json=body).status_code == 400


@pytest.mark.parametrize("tokens", [5, ["a"], [-1], [10**9], [True]])
def test_detokenize_refuses(client: FlaskClient, tokens: Any) -> None:
    response = client.post("/detokenize", json={"tokens": tokens})
    assert response.status_code == 400
    assert response.get_json()["error"]["param"] == "tokens"


def test_models(make_client: MakeClient) -> None:
    client = make_client(alias=("tinyllama-2", "fim", "code"), tags=("a",))
    listed = client.get("/v1/models").get_json()
    assert listed["object"] == "list"
    assert listed["data"][0]["id"] == "code"
    assert set(listed["data"][0]["aliases"]) == {"tinyllama-2", "fim", "code"}
    assert listed["data"][0]["meta"]["n_ctx_train"] == 4096
    assert client.get("/v1/models/fim").get_json()["id"] == "code"
    assert client.get("/v1/models/other").status_code == 404
    assert client.get("/models").status_code == 200


def test_props(make_client: MakeClient) -> None:
    found = make_client(parallel=3, seed=42, temp=0.5).get("/props").get_json()
    assert found["total_slots"] == 3
    assert found["default_generation_settings"]["n_ctx"] == 1536  # a third of 4096, in steps of 256
    assert found["default_generation_settings"]["params"]["seed"] == 42
    assert found["default_generation_settings"]["params"]["temperature"] == 0.5
    assert found["chat_template_caps"]["supports_system_role"] is True
    assert found["modalities"] == {"vision": False, "video": False, "audio": False}
    whole = make_client(parallel=3, kv_unified=True).get("/props").get_json()
    assert whole["default_generation_settings"]["n_ctx"] == 4096
    assert make_client().post("/props", json={}).status_code == 501
    assert make_client(props=True).post("/props", json={}).get_json() == {"success": True}


def test_slots(make_client: MakeClient) -> None:
    client = make_client(parallel=2)
    before = client.get("/slots").get_json()
    assert [slot["id"] for slot in before] == [0, 1]
    assert all("params" not in slot and not slot["is_processing"] for slot in before)
    ask(client, n_predict=2)
    used = [slot for slot in client.get("/slots").get_json() if "params" in slot]
    assert len(used) == 1
    assert used[0]["next_token"][0]["n_decoded"] in (0, 2)
    assert "prompt" not in used[0]
    assert make_client(slots=False).get("/slots").status_code == 501


def test_slots_show_texts_for_debugging(make_client: MakeClient) -> None:
    client = make_client(parallel=1, slots_debug=True)
    ask(client, n_predict=2)
    assert client.get("/slots").get_json()[0]["prompt"] == "Once"


def test_a_slot_is_saved_restored_and_erased(make_client: MakeClient, tmp_path: Path) -> None:
    client = make_client(HashModel(), parallel=1, slot_save_path=str(tmp_path))
    first = ask(client, prompt="a long enough prompt", n_predict=1, id_slot=0)
    saved = client.post("/slots/0?action=save", json={"filename": "s.bin"}).get_json()
    assert saved["n_saved"] >= first["timings"]["prompt_n"]
    assert client.post("/slots/0?action=erase", json={}).get_json()["n_erased"] > 0
    restored = client.post("/slots/0?action=restore", json={"filename": "s.bin"}).get_json()
    assert restored["n_restored"] == saved["n_saved"]
    again = ask(client, prompt="a long enough prompt", n_predict=1, id_slot=0)
    assert again["timings"]["prompt_n"] == 1


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/slots/0?action=save", {"filename": "../x"}, 400),
        ("/slots/0?action=save", {"filename": "a/b"}, 400),
        ("/slots/0?action=save", {"filename": ".x"}, 400),
        ("/slots/0?action=save", {"filename": 5}, 400),
        ("/slots/0?action=save", {}, 400),
        ("/slots/0?action=eat", {}, 400),
        ("/slots/x?action=erase", {}, 400),
        ("/slots/9?action=erase", {}, 404),
        ("/slots/0?action=restore", {"filename": "absent"}, 400),
    ],
)
def test_slot_actions_that_make_no_sense(
    make_client: MakeClient, tmp_path: Path, path: str, body: dict[str, Any], status: int
) -> None:
    client = make_client(slot_save_path=str(tmp_path))
    assert client.post(path, json=body).status_code == status
    assert make_client().post("/slots/0?action=save", json={"filename": "x"}).status_code == 501


def test_metrics(make_client: MakeClient) -> None:
    client = make_client(metrics=True)
    ask(client, n_predict=5)
    ask(client, n_predict=5)
    response = client.get("/metrics")
    assert response.content_type.startswith("text/plain; version=0.0.4")
    assert int(response.headers["Process-Start-Time-Unix"]) > 0
    values = dict(
        line.rsplit(" ", 1) for line in response.get_data(as_text=True).splitlines() if line and line[0] != "#"
    )
    assert float(values["llamacpp:prompt_tokens_total"]) + float(values["llamacpp:prompt_tokens_cached_total"]) == 8
    assert float(values["llamacpp:tokens_predicted_total"]) == 10
    assert float(values["llamacpp:requests_processing"]) == 0
    assert float(values["llamacpp:first_token_seconds_count"]) == 2
    assert values.keys() >= {
        "llamacpp:prompt_seconds_total",
        "llamacpp:tokens_predicted_seconds_total",
        "llamacpp:n_decode_total",
        "llamacpp:n_tokens_max",
        "llamacpp:prompt_tokens_seconds",
        "llamacpp:predicted_tokens_seconds",
        "llamacpp:requests_deferred",
        "llamacpp:n_busy_slots_per_decode",
    }
    assert make_client().get("/metrics").status_code == 501


def test_embeddings_need_the_flag(client: FlaskClient) -> None:
    response = client.post("/v1/embeddings", json={"input": "x"})
    assert response.status_code == 501
    assert "--embeddings" in response.get_json()["error"]["message"]
    assert client.post("/rerank", json={"query": "x", "documents": ["y"]}).status_code == 501


def test_running_requests_are_listed_and_cancelled(make_client: MakeClient) -> None:
    client = make_client(ScriptedModel(["x"] * 2000, delay=0.01))
    body = {"prompt": "y", "request_id": "mine", "stream": True}
    response = client.post("/v1/completions", json=body)
    frames = response.iter_encoded()
    next(frames)
    listed = client.get("/v1/requests").get_json()["data"]
    assert [item["id"] for item in listed] == ["cmpl-mine"]
    assert client.delete("/v1/requests/mine").get_json()["cancelled"] is True
    rest = b"".join(frames)
    assert b'"type":"cancelled_error"' in rest
    assert rest.endswith(b"data: [DONE]\n\n")
    wait_for(lambda: client.get("/v1/requests").get_json()["data"] == [])
    assert client.delete("/v1/requests/mine").status_code == 404


def test_a_model_named_by_its_path(make_client: MakeClient) -> None:
    client = make_client(alias=(), model="/models/some.gguf")
    assert client.get("/v1/models").get_json()["data"][0]["id"] == "/models/some.gguf"
    for path in ("/v1/models//models/some.gguf", "/v1/models/%2Fmodels%2Fsome.gguf", "/v1/models/some.gguf"):
        assert client.get(path).status_code == 200
