"""Fill in the middle: the prompt is llama-server's to the token. What is expected here was recorded from llama-server
on the same files with the same flags."""

from typing import Any

import pytest

from tests.acceptance.conftest import Host
from tests.acceptance.hosting import Client, Hosted
from tests.acceptance.models import LLAMA_FIM, fim_model

FLAGS = ("-c", "512", "-b", "128", "-np", "1")
PREFIX, SUFFIX, PROMPT = "int main() {\n", "}\n", "  int n ="
FILES = [
    {"filename": "llama.h", "text": "int n_threads();\n"},
    {"text": "a <|fim_middle|>"},
    {"filename": "", "text": "x"},
]
CONTROLS = {"input_prefix": "a <|fim_suffix|>", "input_suffix": "</s>", "prompt": "b <|fim_middle|> c"}
LONG = {"input_prefix": "p" * 200, "input_suffix": "q" * 200, "prompt": "rrr"}
HUGE = [{"filename": "f", "text": "x" * 600}]
REPOSITORY = "<|repo_name|> myproject\n"
UNNAMED = "<|file_sep|> filename\n"
NAMED = "<|file_sep|> llama.h\n int n_threads();\n<|file_sep|> tmp\n a <|fim_middle|><|file_sep|> \n x"
MANY = REPOSITORY + NAMED + UNNAMED
SNIPPETS = (
    "\n\n--- snippet ---\n\n int n_threads();\n \n\n--- snippet ---\n\n a <|fim_middle|> \n\n--- snippet ---\n\n x"
)


@pytest.fixture(scope="module")
def qwen(host: Host, tmp_path_factory: pytest.TempPathFactory, shared: object) -> Hosted:
    """A model with all of Qwen's tokens, those for repository and file included."""
    return host(*FLAGS, "-n", "16", preset=False, model=fim_model(tmp_path_factory.mktemp("fim") / "qwen.gguf"))


@pytest.fixture(scope="module")
def turned(host: Host, qwen: Hosted) -> Hosted:
    """The same with the suffix first."""
    return host(*FLAGS, "-n", "16", "--spm-infill", preset=False, model=str(qwen.service.settings.model))


@pytest.fixture(scope="module")
def code_llama(host: Host, tmp_path_factory: pytest.TempPathFactory, shared: object) -> Hosted:
    """A model with prefix, suffix and middle only."""
    path = fim_model(tmp_path_factory.mktemp("fim") / "llama.gguf", LLAMA_FIM)
    return host(*FLAGS, preset=False, model=path)


def infill(client: Client, **body: Any) -> Any:
    body = {"input_prefix": PREFIX, "input_suffix": SUFFIX, "n_predict": 6, "temperature": 0, **body}
    return client.ok("/infill", {**body, "return_tokens": True})


@pytest.mark.parametrize(
    ("body", "prompt", "n_tokens", "tokens"),
    [
        (
            {},
            f"{REPOSITORY}{UNNAMED}<s><|fim_prefix|> int main() {{\n<|fim_suffix|> }}\n<|fim_middle|>",
            42,
            [123, 185, 155, 14, 372, 252],
        ),
        (
            {"prompt": PROMPT},
            f"{REPOSITORY}{UNNAMED}<s><|fim_prefix|> int main() {{\n   int n =<|fim_suffix|> }}\n<|fim_middle|>",
            51,
            [134, 264, 212, 195, 174, 292],
        ),
        (
            {"prompt": PROMPT, "input_extra": FILES},
            f"{MANY}<s><|fim_prefix|> int main() {{\n   int n =<|fim_suffix|> }}\n<|fim_middle|>",
            103,
            [181, 123, 232, 222, 109, 343],
        ),
        (  # only the prompt may write control tokens
            CONTROLS,
            f"{REPOSITORY}{UNNAMED}<s><|fim_prefix|> a <|fim_suffix|> b <|fim_middle|>  c<|fim_suffix|> </s>"
            "<|fim_middle|>",
            55,
            [343, 317, 121, 201, 94, 197],
        ),
        (
            {"input_prefix": "", "input_suffix": ""},
            f"{REPOSITORY}{UNNAMED}<s><|fim_prefix|><|fim_suffix|><|fim_middle|>",
            27,
            [336, 276, 188, 298, 358, 123],
        ),
        (  # the end of the prefix and the beginning of the suffix, three to one
            LONG,
            f"{REPOSITORY}{UNNAMED}<s><|fim_prefix|>{'p' * 96} rrr<|fim_suffix|> {'q' * 25}<|fim_middle|>",
            153,
            [228, 191, 196, 182, 87, 368],
        ),
        (  # the end of the other files, as far as there is room
            {"input_extra": HUGE},
            f"{'x' * 341}{UNNAMED}<s><|fim_prefix|> int main() {{\n<|fim_suffix|> }}\n<|fim_middle|>",
            371,
            [123, 264, 123, 65, 341, 65],
        ),
        (
            {**LONG, "input_extra": HUGE},
            f"{'x' * 341}{UNNAMED}<s><|fim_prefix|>{'p' * 96} rrr<|fim_suffix|> {'q' * 25}<|fim_middle|>",
            482,
            [217, 155, 145, 155, 145, 155],
        ),
    ],
)
def test_with_tokens_for_repository_and_file(
    qwen: Hosted, body: dict[str, Any], prompt: str, n_tokens: int, tokens: list[int]
) -> None:
    answer = infill(qwen, **body)
    assert answer["prompt"] == prompt
    assert (answer["tokens_evaluated"], answer["tokens"]) == (n_tokens, tokens)


def test_without_them_files_are_snippets(code_llama: Hosted) -> None:
    answer = infill(code_llama, prompt=PROMPT, input_extra=FILES)
    assert answer["prompt"] == f"{SNIPPETS}<s>▁<PRE> int main() {{\n   int n =▁<SUF> }}\n▁<MID>"
    assert (answer["tokens_evaluated"], answer["tokens"]) == (122, [59, 334, 18, 270, 212, 141])


def test_the_suffix_first(turned: Hosted) -> None:
    answer = infill(turned, prompt=PROMPT, input_extra=FILES)
    assert answer["prompt"] == f"{MANY}<s><|fim_suffix|> }}\n<|fim_prefix|> int main() {{\n   int n =<|fim_middle|>"
    assert (answer["tokens_evaluated"], answer["tokens"]) == (103, [181, 90, 264, 357, 360, 66])


def test_without_a_limit_other_files_take_all_that_the_batch_leaves(code_llama: Hosted) -> None:
    answer = infill(code_llama, input_extra=HUGE)
    assert answer["prompt"] == f"{'x' * 386}<s>▁<PRE> int main() {{\n▁<SUF> }}\n▁<MID>"
    assert (answer["tokens_evaluated"], answer["tokens"]) == (405, [123, 65, 32, 350, 65, 32])


def test_other_files_never_push_a_request_out_of_the_context(code_llama: Hosted) -> None:
    """llama-server refuses this: 516 tokens, with a context of 512."""
    answer = infill(code_llama, **LONG, input_extra=HUGE)
    assert answer["tokens_evaluated"] == 512 - 6
    assert answer["tokens_predicted"] == 6
    assert answer["truncated"] is False


def test_the_reply_is_the_native_one(qwen: Hosted) -> None:
    whole = infill(qwen, prompt=PROMPT, stop=["\n\n\n"], n_probs=1)
    assert whole["index"] == 0
    assert (whole["stop"], whole["stop_type"], whole["tokens_predicted"]) == (True, "limit", 6)
    assert [item["id"] for item in whole["completion_probabilities"]] == whole["tokens"]
    assert whole["generation_settings"]["n_predict"] == 6
    assert "choices" not in whole
    body = {"input_prefix": PREFIX, "input_suffix": SUFFIX, "prompt": PROMPT, "n_predict": 6, "temperature": 0}
    events = qwen.stream("/infill", body)
    assert "".join(event["content"] for event in events) == whole["content"]
    assert [token for event in events for token in event["tokens"]] == whole["tokens"]
    assert [event["stop"] for event in events] == [False] * 6 + [True]
    assert events[-1]["prompt"] == whole["prompt"]


@pytest.mark.parametrize(
    "extra", [{}, {"filename": "ok"}, {"filename": 123}, {"filename": 123, "text": "abc"}, 5, None]
)
def test_other_files_of_another_shape(qwen: Hosted, extra: Any) -> None:
    body = {"input_prefix": PREFIX, "input_suffix": SUFFIX, "input_extra": [extra]}
    error = qwen.post("/infill", body).error
    assert (error["code"], error["type"], error["param"]) == (400, "invalid_request_error", "input_extra")


@pytest.mark.parametrize("missing", ["input_prefix", "input_suffix"])
def test_what_is_required(qwen: Hosted, missing: str) -> None:
    body = {"input_prefix": PREFIX, "input_suffix": SUFFIX}
    del body[missing]
    error = qwen.post("/infill", body).error
    assert (error["code"], error["message"]) == (400, f'"{missing}" is required')


def test_a_model_without_the_tokens(host: Host) -> None:
    error = host("-n", "24", preset=False).post("/infill", {"input_prefix": "a", "input_suffix": "b"}).error
    assert (error["code"], error["type"]) == (501, "not_supported_error")
    assert error["message"] == (
        "Infill is not supported by this model: "
        "prefix token is missing. suffix token is missing. middle token is missing."
    )


def test_a_suffix_of_the_openai_endpoint_is_the_same_prompt(code_llama: Hosted, qwen: Hosted, turned: Hosted) -> None:
    body = {"max_tokens": 6, "temperature": 0, "repeat_penalty": 1, "verbose": True}
    for client in (code_llama, qwen, turned):
        answer = client.ok("/v1/completions", {**body, "prompt": PREFIX, "suffix": SUFFIX})
        other = infill(client)
        near = other["prompt"][other["prompt"].index("<s>") :]
        assert answer["__verbose"]["prompt"] == near
        assert answer["usage"]["prompt_tokens"] == answer["__verbose"]["tokens_evaluated"]
    assert answer["usage"]["completion_tokens"] == 6
    native = infill(code_llama)
    answer = code_llama.ok("/v1/completions", {**body, "prompt": PREFIX, "suffix": SUFFIX})
    assert answer["choices"][0]["text"] == native["content"]  # no other files: the very same prompt
    both = code_llama.ok("/v1/completions", {**body, "prompt": [PREFIX, "x"], "suffix": SUFFIX, "echo": True})
    assert both["choices"][0]["text"] == PREFIX + native["content"]
    assert both["choices"][1]["text"].startswith("x")


def test_a_suffix_needs_the_tokens(host: Host) -> None:
    error = host("-n", "24", preset=False).post("/v1/completions", {"prompt": "a", "suffix": "b"}).error
    assert (error["code"], error["param"]) == (400, "suffix")
    assert "prefix token is missing" in error["message"]
