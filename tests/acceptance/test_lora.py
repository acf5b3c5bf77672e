"""LoRA adapters from outside: the flags, the list, scales for all and for one request, and files that do not fit."""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from gguf import GGMLQuantizationType

from llama.api.service import Service
from llama.errors import ModelFileError
from llama.modelfile import ModelFile
from llama.settings import read_settings
from tests.acceptance.hosting import Client, Hosted
from tests.models.lora import batch, merged, opened, random_pairs, stored_pairs, unscaled, write_adapter
from tests.running import RunningServer

PROMPT = "Look in thy glass"
GREEDY = {"prompt": PROMPT, "n_predict": 12, "temperature": 0, "return_tokens": True}
SCALES: list[list[dict[str, float]]] = [
    [{"id": 0, "scale": 0.0}],
    [{"id": 0, "scale": 0.3}],
    [{"id": 0, "scale": 0.7}],
    [{"id": 0, "scale": 1.0}],
    [{"id": 1, "scale": 1.0}],
    [{"id": 0, "scale": 0.5}, {"id": 1, "scale": -0.5}],
]


@pytest.fixture(scope="module")
def adapters(stories: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Two adapters of the story model: of all its matrices but the embeddings, and of half of them."""
    folder = tmp_path_factory.mktemp("lora")
    with ModelFile.open(stories) as file:
        names = [name for name, tensor in file.tensors.items() if len(tensor.shape) > 1 and "embd" not in name]
        texts = {"adapter.lora.task_name": "verse", "adapter.lora.prompt_prefix": "Sing: "}
        one = write_adapter(folder / "one.gguf", random_pairs(file, names, 4), alpha=8.0, more=texts)
        half = random_pairs(file, names[::2], 6, seed=1)
        two = write_adapter(folder / "two.gguf", half, kind=GGMLQuantizationType.F16)
    return str(one), str(two)


Give = Callable[..., Hosted]


@pytest.fixture
def give(stories: str) -> Iterator[Give]:
    """Makes applications with these flags, closed after the test: scales for all requests are not left behind."""
    made: list[Hosted] = []

    def make(*flags: str) -> Hosted:
        made.append(Hosted("-m", stories, "-c", "512", "-np", "4", *flags))
        return made[-1]

    yield make
    for hosted in made:
        hosted.close()


def said(client: Client, **more: Any) -> list[int]:
    return list(client.ok("/completion", {**GREEDY, **more})["tokens"])


def test_the_list_shows_names_as_they_were_given_and_scales(give: Give, adapters: tuple[str, str]) -> None:
    one, two = adapters
    server = give("--lora-scaled", f"{two}:0.5", "--lora", one)
    assert server.get("/lora-adapters").json == [
        {"id": 0, "path": two, "scale": 0.5, "task_name": "", "prompt_prefix": ""},
        {"id": 1, "path": one, "scale": 1.0, "task_name": "verse", "prompt_prefix": "Sing: "},
    ]
    waiting = give("--lora", f"{one},{two}", "--lora-init-without-apply")
    assert [item["scale"] for item in waiting.get("/lora-adapters").json] == [0.0, 0.0]
    assert said(waiting) == said(give())


def test_scales_for_all_requests_are_set_and_those_left_out_are_off(give: Give, adapters: tuple[str, str]) -> None:
    server, plain = give("--lora", ",".join(adapters)), give()
    both, without = said(server), said(plain)
    assert both != without
    assert server.ok("/lora-adapters", [{"id": 0, "scale": 1.0}]) == {"success": True}
    assert [item["scale"] for item in server.get("/lora-adapters").json] == [1.0, 0.0]
    first = said(server)
    assert first == said(server, lora=[{"id": 0, "scale": 1}])
    assert first not in (both, without)
    assert server.ok("/lora-adapters", []) == {"success": True}
    assert said(server) == without
    assert said(server, lora=[{"id": 0, "scale": 1}, {"id": 1, "scale": 1}]) == both


def test_each_request_has_its_own_scales_whatever_runs_beside_it(give: Give, adapters: tuple[str, str]) -> None:
    server = give("--lora", ",".join(adapters))
    alone = [said(server, lora=scales, cache_prompt=False) for scales in SCALES]
    assert len({tuple(tokens) for tokens in alone}) == len(SCALES)
    with ThreadPoolExecutor(12) as pool:
        for cache in (False, True):
            asked = [(scales, pool.submit(said, server, lora=scales, cache_prompt=cache)) for scales in SCALES * 2]
            for scales, tokens in asked:
                assert tokens.result() == alone[SCALES.index(scales)]


def test_every_endpoint_takes_scales(give: Give, adapters: tuple[str, str]) -> None:
    server = give("--lora", adapters[0], "--chat-template", "chatml")
    chat = [{"role": "user", "content": PROMPT}]
    bodies: dict[str, dict[str, Any]] = {
        "/v1/completions": {"prompt": PROMPT},
        "/v1/chat/completions": {"messages": chat},
        "/v1/messages": {"messages": chat},
        "/v1/responses": {"input": PROMPT, "max_output_tokens": 8},
    }
    for path, body in bodies.items():
        body |= {"max_tokens": 8, "temperature": 0, "repeat_penalty": 1}
        answers = [server.ok(path, {**body, "lora": [{"id": 0, "scale": scale}]}) for scale in (0, 1, 1)]
        found = [[answer.get(key) for key in ("choices", "content", "output")] for answer in answers]
        texts = [" ".join(re.findall(r"'(?:text|content)': '([^']*)'", str(parts))) for parts in found]
        assert texts[1] == texts[2] != texts[0], path


def test_what_was_cached_with_other_scales_is_read_anew(give: Give, adapters: tuple[str, str]) -> None:
    server = give("--lora", adapters[0])
    for scales, again in (([0.5], 0), ([1.0], 0), ([0.5], 1), ([1.0], 1)):
        body = {**GREEDY, "lora": [{"id": 0, "scale": scales[0]}]}
        timings = server.ok("/completion", body)["timings"]
        assert bool(timings["cache_n"]) == bool(again)


def test_settings_show_the_scales_in_force(give: Give, adapters: tuple[str, str]) -> None:
    server = give("--lora-scaled", f"{adapters[0]}:0.5,{adapters[1]}:0", "--slots")
    default = [{"id": 0, "scale": 0.5}, {"id": 1, "scale": 0.0}]
    assert server.get("/props").json["default_generation_settings"]["params"]["lora"] == default
    asked = [{"id": 1, "scale": 0.25}]
    wanted = [{"id": 0, "scale": 0.0}, {"id": 1, "scale": 0.25}]
    answer = server.ok("/completion", {**GREEDY, "lora": asked, "id_slot": 2})
    assert answer["generation_settings"]["lora"] == wanted
    assert server.get("/slots").json[2]["params"]["lora"] == wanted
    assert server.ok("/completion", GREEDY)["generation_settings"]["lora"] == default


def test_embeddings_are_those_of_the_merged_model(give: Give, adapters: tuple[str, str], stories: str) -> None:
    exact = ["--cache-type-k", "f32", "--cache-type-v", "f32"]
    server = give("--lora-scaled", f"{adapters[0]}:0.5", "--embeddings", "--pooling", "none", *exact)
    tokens = server.ok("/tokenize", {"content": PROMPT, "add_special": True})["tokens"]
    rows = server.ok("/embedding", {"content": PROMPT, "embd_normalize": -1})[0]["embedding"]
    with ModelFile.open(stories) as file:
        model = opened(merged(file, (stored_pairs(adapters[0]), 0.5 * 8 / 4)))
        wanted = model.forward(unscaled(batch(model, (tokens, 0, 0, []))), hidden=True)
    assert rows == [pytest.approx(row.tolist(), abs=1e-3) for row in wanted]


WRONG: list[tuple[Any, str]] = [
    ({}, "must be an array of objects with 'id' and 'scale' fields"),
    ("0", "must be an array"),
    ([3], "must be an array of objects"),
    ([{"id": 0}], "must be an array of objects"),
    ([{"scale": 1}], "must be an array of objects"),
    ([{"id": "0", "scale": 1}], "'lora.id': must be a whole number"),
    ([{"id": 0, "scale": "1"}], "'lora.scale': must be a number"),
    ([{"id": -1, "scale": 1}], "'lora.id'"),
    ([{"id": 0, "scale": 1e9}], "'lora.scale': Value must be between"),
    ([{"id": 2, "scale": 1}], "there is no adapter 2, ids are 0 to 1"),
]


def test_wrong_scales_are_refused_by_what_is_wrong(give: Give, adapters: tuple[str, str]) -> None:
    server = give("--lora", ",".join(adapters))
    before = server.get("/lora-adapters").json
    for value, message in WRONG:
        refused = server.post("/completion", {**GREEDY, "lora": value})
        assert (refused.status, refused.error["type"]) == (400, "invalid_request_error"), value
        assert message in refused.error["message"], value
        if isinstance(value, list):
            assert server.post("/lora-adapters", value).status == 400
    assert "Request body must be an array" in server.post("/lora-adapters", {}).error["message"]
    assert server.get("/lora-adapters").json == before


def test_without_adapters_scales_are_accepted_and_nothing_is_listed(give: Give) -> None:
    server = give()
    assert server.get("/lora-adapters").json == []
    assert server.ok("/lora-adapters", [{"id": 0, "scale": 1}]) == {"success": True}
    assert said(server, lora=[{"id": 0, "scale": 1}]) == said(server)
    assert server.ok("/completion", GREEDY)["generation_settings"]["lora"] == []


def test_a_slot_is_restored_with_its_adapters_only(give: Give, adapters: tuple[str, str], tmp_path: Path) -> None:
    def cached(server: Client, scale: float) -> int:
        body = {**GREEDY, "lora": [{"id": 0, "scale": scale}], "id_slot": 1}
        return int(server.ok("/completion", body)["timings"]["cache_n"])

    server = give("--lora", adapters[0], "--slot-save-path", str(tmp_path))
    assert cached(server, 0.5) == 0
    assert server.ok("/slots/1?action=save", {"filename": "a.bin"})["n_saved"] > 10
    again = give("--lora", adapters[0], "--slot-save-path", str(tmp_path))
    again.ok("/slots/1?action=restore", {"filename": "a.bin"})
    assert cached(again, 0.5) > 0
    again.ok("/slots/1?action=restore", {"filename": "a.bin"})
    assert cached(again, 0.6) == 0
    for others in (["--lora", adapters[1]], []):
        other = give(*others, "--slot-save-path", str(tmp_path))
        refused = other.post("/slots/1?action=restore", {"filename": "a.bin"})
        assert "saved with another model" in refused.error["message"]


def test_a_file_that_does_not_fit_stops_the_start(stories: str, adapters: tuple[str, str], tmp_path: Path) -> None:
    for line, message in (
        (["--lora", stories], "general.type must be 'adapter'"),
        (["--lora", str(tmp_path / "none.gguf")], "none.gguf does not exist"),
    ):
        service = Service(read_settings(["-m", stories, *line, "--kernels", "numpy"], {}))
        with pytest.raises(ModelFileError, match=message):
            service.wait_until_ready(60)
        service.close()
    flags = ["-m", stories, "--lora", stories, "--kernels", "numpy"]
    server = RunningServer(tmp_path / "log", *flags, wait=False)
    assert server.process.wait(60) != 0
    server.close()
    assert "no LoRA adapter: general.type must be 'adapter'" in (tmp_path / "log").read_text()
