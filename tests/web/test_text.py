"""/v1/completions in the exact shapes of the documentation page."""

from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.fakes import HashModel
from tests.web.conftest import MakeClient
from tests.web.wire import events


def ask(client: FlaskClient, **body: Any) -> Any:
    response = client.post("/v1/completions", json={"prompt": "Once upon a time", "max_tokens": 50, **body})
    assert response.status_code == 200, response.get_data(as_text=True)
    return response.get_json()


def refuse(client: FlaskClient, status: int = 400, **body: Any) -> Any:
    response = client.post("/v1/completions", json={"prompt": "Once upon a time", "max_tokens": 5, **body})
    assert response.status_code == status, response.get_data(as_text=True)
    return response.get_json()["error"]


def test_the_whole_answer(client: FlaskClient) -> None:
    answer = ask(client, model="gpt-3.5-turbo")
    assert answer["id"].startswith("cmpl-")
    assert (answer["object"], answer["model"]) == ("text_completion", "gpt-3.5-turbo")
    assert isinstance(answer["created"], int)
    assert answer["choices"] == [{"text": " in a small village", "index": 0, "logprobs": None, "finish_reason": "stop"}]
    assert answer["usage"]["prompt_tokens"] == 16
    assert answer["usage"]["completion_tokens"] == 20  # the end token counts
    assert answer["usage"]["total_tokens"] == 36
    assert answer["timings"]["predicted_n"] == 20
    assert answer["timings"]["prompt_n"] + answer["timings"]["cache_n"] == 16


def test_without_a_model_the_alias_is_named(client: FlaskClient) -> None:
    assert ask(client)["model"] == "fake"


def test_the_stream_of_the_page(make_client: MakeClient) -> None:
    client = make_client([" in", " a", " small", "<|end|>"])
    *chunks, done = events(client.post("/v1/completions", json={"prompt": "Once", "stream": True}))
    assert done == "[DONE]"
    assert [chunk["choices"][0]["text"] for chunk in chunks] == [" in", " a", " small", ""]
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None, None, None, "stop"]
    for chunk in chunks:
        assert chunk["object"] == "text_completion"
        assert (chunk["id"], chunk["created"], chunk["model"]) == (chunks[0]["id"], chunks[0]["created"], "fake")
        assert chunk["choices"][0].keys() == {"text", "index", "logprobs", "finish_reason"}
        assert "usage" not in chunk
    assert "timings" in chunks[-1]


def test_usage_of_a_stream_comes_last_when_asked_for(client: FlaskClient) -> None:
    body = {"prompt": "Once", "stream": True, "stream_options": {"include_usage": True}, "max_tokens": 3}
    *chunks, last, done = events(client.post("/v1/completions", json=body))
    assert done == "[DONE]"
    assert last["choices"] == []
    assert last["usage"]["completion_tokens"] == 3
    assert last["timings"]["predicted_n"] == 3
    assert chunks[-1]["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize("stop", ["small", ["small"], ["vill", "small vill", "sm"], ["", "small"]])
def test_stop_texts_are_cut_away_even_across_tokens(client: FlaskClient, stop: Any) -> None:
    answer = ask(client, stop=stop)
    assert answer["choices"][0]["text"] == " in a "
    assert answer["choices"][0]["finish_reason"] == "stop"
    streamed = events(client.post("/v1/completions", json={"prompt": "Once", "stop": stop, "stream": True}))[:-1]
    assert "".join(chunk["choices"][0]["text"] for chunk in streamed) == " in a "


def test_a_held_back_text_is_flushed_at_the_limit(client: FlaskClient) -> None:
    body = {"prompt": "Once", "stop": [" in a small town"], "max_tokens": 8}
    whole = client.post("/v1/completions", json=body).get_json()["choices"][0]
    chunks = events(client.post("/v1/completions", json={**body, "stream": True}))[:-1]
    assert whole["text"] == " in a sm"
    assert "".join(chunk["choices"][0]["text"] for chunk in chunks) == " in a sm"
    assert whole["finish_reason"] == chunks[-1]["choices"][0]["finish_reason"] == "length"


def test_logprobs_in_the_old_shape(client: FlaskClient) -> None:
    choice = ask(client, logprobs=3, max_tokens=5)["choices"][0]
    found = choice["logprobs"]
    assert found.keys() == {"tokens", "token_logprobs", "top_logprobs", "text_offset"}
    assert found["tokens"] == [" ", "i", "n", " ", "a"]
    assert found["text_offset"] == [0, 1, 2, 3, 4]
    assert all(
        len(top) == 3 and token in top for token, top in zip(found["tokens"], found["top_logprobs"], strict=True)
    )
    assert all(logprob <= 0 for logprob in found["token_logprobs"])


def test_logprobs_of_a_stream_add_up_to_those_of_the_whole(client: FlaskClient) -> None:
    body = {"prompt": "Once", "max_tokens": 8, "logprobs": 2, "temperature": 0, "stop": ["sma"]}
    whole = client.post("/v1/completions", json=body).get_json()["choices"][0]["logprobs"]
    chunks = events(client.post("/v1/completions", json={**body, "stream": True}))[:-1]
    parts = [chunk["choices"][0]["logprobs"] for chunk in chunks if chunk["choices"][0]["logprobs"]]
    for key in whole:
        assert [entry for part in parts for entry in part[key]] == whole[key]


@pytest.mark.parametrize("logprobs", [0, 1, 5])
def test_range_of_logprobs(client: FlaskClient, logprobs: int) -> None:
    found = ask(client, logprobs=logprobs, max_tokens=1)["choices"][0]["logprobs"]
    assert [len(top) for top in found["top_logprobs"]] == [logprobs]


@pytest.mark.parametrize("logprobs", [6, -1, "3", 1e9])
def test_logprobs_out_of_range_are_refused(client: FlaskClient, logprobs: Any) -> None:
    assert refuse(client, logprobs=logprobs)["param"] == "logprobs"


def test_echo_repeats_the_prompt(client: FlaskClient) -> None:
    assert ask(client, echo=True)["choices"][0]["text"] == "Once upon a time in a small village"
    chunks = events(client.post("/v1/completions", json={"prompt": "Once", "echo": True, "stream": True}))[:-1]
    assert "".join(chunk["choices"][0]["text"] for chunk in chunks) == "Once in a small village"


def test_echo_with_logprobs_scores_the_prompt(client: FlaskClient) -> None:
    choice = ask(client, prompt="Once", echo=True, logprobs=1, max_tokens=2)["choices"][0]
    found = choice["logprobs"]
    assert choice["text"] == "Once i"
    assert found["tokens"] == ["O", "n", "c", "e", " ", "i"]
    assert found["text_offset"] == [0, 1, 2, 3, 4, 5]
    assert found["token_logprobs"][0] is None
    assert found["top_logprobs"][0] is None
    assert all(logprob is not None for logprob in found["token_logprobs"][1:])


def test_scoring_only(make_client: MakeClient) -> None:
    client = make_client(HashModel())
    body = {"prompt": [[72, 105], [72, 111, 33]], "echo": True, "logprobs": 1, "max_tokens": 0}
    answer = client.post("/v1/completions", json=body).get_json()
    assert [choice["text"] for choice in answer["choices"]] == ["Hi", "Ho!"]
    assert [len(choice["logprobs"]["tokens"]) for choice in answer["choices"]] == [2, 3]
    assert answer["usage"]["completion_tokens"] == 0
    assert [choice["finish_reason"] for choice in answer["choices"]] == ["length", "length"]


def test_what_lm_eval_sends(make_client: MakeClient) -> None:
    client = make_client(["<|end|>"])  # the worst case: the one token to generate is the end
    body = {
        "prompt": [[72, 105, 33], [72]],
        "max_tokens": 1,
        "echo": True,
        "logprobs": 1,
        "temperature": 0,
        "seed": 1234,
    }
    answer = client.post("/v1/completions", json=body).get_json()
    for choice, prompt in zip(answer["choices"], body["prompt"], strict=True):  # type: ignore[call-overload]
        assert len(choice["logprobs"]["token_logprobs"]) == len(prompt) + 1
        assert len(choice["logprobs"]["top_logprobs"]) == len(prompt) + 1
        assert choice["logprobs"]["token_logprobs"][0] is None


def test_max_tokens_zero_generates_nothing(client: FlaskClient) -> None:
    answer = ask(client, max_tokens=0)
    assert answer["choices"][0]["text"] == ""
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["usage"]["completion_tokens"] == 0


def test_several_prompts_and_choices_are_numbered_prompt_first(make_client: MakeClient) -> None:
    client = make_client({"France": " Paris<|end|>", "Germany": " Berlin<|end|>"})
    answer = ask(client, prompt=["France is", "Germany is"], n=2)
    assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2, 3]
    assert [choice["text"] for choice in answer["choices"]] == [" Paris", " Paris", " Berlin", " Berlin"]
    assert answer["usage"]["prompt_tokens"] == len("France is") + len("Germany is")
    assert answer["usage"]["completion_tokens"] == 2 * 7 + 2 * 8


def test_several_prompts_in_one_stream(make_client: MakeClient) -> None:
    client = make_client({"France": " Paris<|end|>", "Germany": " Berlin<|end|>"})
    body = {"prompt": ["France is", "Germany is"], "n": 2, "stream": True}
    *chunks, done = events(client.post("/v1/completions", json=body))
    assert done == "[DONE]"
    texts = dict.fromkeys(range(4), "")
    ends = []
    for chunk in chunks:
        for choice in chunk["choices"]:
            texts[choice["index"]] += choice["text"]
            ends += [choice["index"]] if choice["finish_reason"] else []
    assert list(texts.values()) == [" Paris", " Paris", " Berlin", " Berlin"]
    assert sorted(ends) == [0, 1, 2, 3]


def test_many_more_prompts_than_slots(client: FlaskClient) -> None:
    answer = ask(client, prompt=[f"prompt {number}" for number in range(40)], max_tokens=2)
    assert [choice["text"] for choice in answer["choices"]] == [" i"] * 40


def test_best_of_returns_the_most_probable(make_client: MakeClient) -> None:
    client = make_client(HashModel())
    body = {"prompt": "x", "max_tokens": 6, "seed": 5, "ignore_eos": True}
    every = client.post("/v1/completions", json={**body, "n": 6, "logprobs": 0}).get_json()["choices"]
    best = client.post("/v1/completions", json={**body, "best_of": 6}).get_json()
    means = [sum(c["logprobs"]["token_logprobs"]) / len(c["logprobs"]["token_logprobs"]) for c in every]
    assert [choice["text"] for choice in best["choices"]] == [every[means.index(max(means))]["text"]]
    assert best["choices"][0]["index"] == 0
    assert best["choices"][0]["logprobs"] is None
    assert best["usage"]["completion_tokens"] == 36


def test_best_of_has_limits(client: FlaskClient) -> None:
    assert refuse(client, n=3, best_of=2)["param"] == "best_of"
    assert refuse(client, best_of=2, stream=True)["param"] == "best_of"


def test_suffix_fills_the_middle(make_client: MakeClient) -> None:
    client = make_client({"<fim_prefix>def f():\n<fim_suffix>\n    return x<fim_middle>": "    x = 1<|end|>"})
    answer = ask(client, prompt="def f():\n", suffix="\n    return x")
    assert answer["choices"][0]["text"] == "    x = 1"


def test_suffix_without_the_tokens_for_it(make_client: MakeClient) -> None:
    client = make_client()
    vocab = client.application.extensions["llama"].service.parts.vocab
    vocab.fim_mid = None
    error = refuse(client, suffix="x")
    assert error["param"] == "suffix"
    assert "middle token is missing" in error["message"]
    assert ask(client, suffix="")["choices"][0]["text"] == ask(client, suffix=None)["choices"][0]["text"]


def test_the_prompt_is_required(client: FlaskClient) -> None:
    response = client.post("/v1/completions", json={"model": "x"})
    assert response.status_code == 400
    error = response.get_json()["error"]
    assert (error["message"], error["type"], error["code"]) == ("prompt is required", "invalid_request_error", 400)


@pytest.mark.parametrize(
    ("prompt", "choices"),
    [
        ("a", 1),
        (["a", "b"], 2),
        ([1, 2, 3], 1),
        ([[1, 2], [3]], 2),
        (["a", [1, 2]], 2),
        ([1, "b", 2], 1),
        ({"prompt_string": "a"}, 1),
        (["a", {"prompt_string": "b"}], 2),
    ],
)
def test_shapes_of_prompts(client: FlaskClient, prompt: Any, choices: int) -> None:
    assert len(ask(client, prompt=prompt, max_tokens=1)["choices"]) == choices


@pytest.mark.parametrize(
    "prompt", [[], [[]], "", None, [1, -5], [99999999], [True], {"a": 1}, 5, [None], [1, [2]], [{}]]
)
def test_prompts_that_are_none(client: FlaskClient, prompt: Any) -> None:
    assert refuse(client, prompt=prompt)["param"] == "prompt"


def test_a_grammar_in_single_quotes_binds(make_client: MakeClient) -> None:
    client = make_client(HashModel())
    grammar = "root ::= expr\nexpr ::= term (('+' | '-') term)*\nterm ::= factor (('*' | '/') factor)*\n"
    text = ask(client, grammar=grammar + "factor ::= [0-9]+ | '(' expr ')'", max_tokens=20)["choices"][0]["text"]
    assert set(text) <= set("0123456789+-*/()")


def test_a_broken_grammar_is_400(client: FlaskClient) -> None:
    assert refuse(client, grammar="root ::= (")["param"] == "grammar"


@pytest.mark.parametrize(
    "body",
    [
        {"guided_choice": ["yes", "no"]},
        {"structured_outputs": {"choice": ["yes", "no"]}},
        {"guided_regex": "(yes|no)"},
        {"json_schema": {"enum": ["yes", "no"]}},
        {"response_format": {"type": "json_schema", "schema": {"enum": ["yes", "no"]}}},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"enum": ["yes", "no"]}}}},
        {"guided_json": '{"enum": ["yes", "no"]}'},
    ],
)
def test_ways_to_bind_the_output(make_client: MakeClient, body: dict[str, Any]) -> None:
    text = ask(make_client(HashModel()), max_tokens=30, **body)["choices"][0]["text"]
    assert text.strip('"') in ("yes", "no")


def test_sampling_parameters_reach_the_engine(make_client: MakeClient) -> None:
    client = make_client(HashModel())
    first, again, other = (ask(client, seed=seed, max_tokens=12)["choices"][0]["text"] for seed in (1, 1, 2))
    assert first == again != other


def test_logit_bias_bans_and_forces(client: FlaskClient) -> None:
    assert ask(client, logit_bias={"33": 1000}, max_tokens=2)["choices"][0]["text"] == "!!"
    assert ask(client, logit_bias=[["!", 1000]], max_tokens=2)["choices"][0]["text"] == "!!"
    assert " " not in ask(client, logit_bias=[[32, False]], max_tokens=5)["choices"][0]["text"]


def test_unknown_samplers_are_refused_with_the_list(client: FlaskClient) -> None:
    error = refuse(client, samplers=["top_q"])
    assert "top_q" in error["message"]
    assert "top_k" in error["message"]


def test_a_model_that_never_ends_stops_at_the_end_of_the_context(make_client: MakeClient) -> None:
    client = make_client(["x"] * 200, ctx_size=64)
    answer = client.post("/v1/completions", json={"prompt": "12345678"}).get_json()
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["usage"]["completion_tokens"] == 56


@pytest.mark.parametrize("stream", [False, True])
def test_a_prompt_that_does_not_fit(make_client: MakeClient, stream: bool) -> None:
    client = make_client(ctx_size=64)
    error = refuse(client, prompt="x" * 64, stream=stream)
    assert error["type"] == "exceed_context_size_error"
    assert (error["n_prompt_tokens"], error["n_ctx"]) == (64, 64)


def test_half_a_character_at_the_limit_reads_the_same_both_ways(make_client: MakeClient) -> None:
    client = make_client(["A", b"\xf0\x9f", b"\x98\xb8"])
    body = {"prompt": "x", "max_tokens": 2}
    whole = client.post("/v1/completions", json=body).get_json()["choices"][0]["text"]
    chunks = events(client.post("/v1/completions", json={**body, "stream": True}))[:-1]
    assert whole == "".join(chunk["choices"][0]["text"] for chunk in chunks)
    assert whole in ("A", "A\ufffd")


def test_bytes_that_are_no_text_become_replacement_characters(make_client: MakeClient) -> None:
    client = make_client([b"\xc3", b"\x27", b"\xff"])
    text = client.post("/v1/completions", json={"prompt": "x"}).get_json()["choices"][0]["text"]
    assert text == "\ufffd'\ufffd"


def test_cached_tokens_are_reported(client: FlaskClient) -> None:
    assert ask(client)["usage"]["prompt_tokens_details"]["cached_tokens"] == 0
    again = ask(client)
    assert again["usage"]["prompt_tokens_details"]["cached_tokens"] == again["timings"]["cache_n"] == 15
    assert ask(client, cache_prompt=False)["timings"]["cache_n"] == 0


def test_progress_and_timings_of_each_event(make_client: MakeClient) -> None:
    client = make_client(ubatch_size=16)
    body = {"prompt": "x" * 60, "stream": True, "max_tokens": 3, "return_progress": True, "timings_per_token": True}
    *chunks, _ = events(client.post("/v1/completions", json=body))
    progress = [chunk["prompt_progress"] for chunk in chunks if "prompt_progress" in chunk]
    assert progress[0]["processed"] == progress[0]["cache"] == 0
    assert progress[-1]["processed"] == progress[-1]["total"] == 60
    counts = [chunk["timings"]["predicted_n"] for chunk in chunks if "prompt_progress" not in chunk]
    assert counts == [1, 2, 3, 3]
