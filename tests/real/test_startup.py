"""From the command line to the first answer: what can be wrong is said, and the process ends with 1."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.running import ROOT, RunningServer, free_port

pytestmark = pytest.mark.real_model

GUNICORN = (sys.executable, "-m", "gunicorn", "-c", "gunicorn.conf.py")


def ended(*command: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    """The exit code of a command, and what it said."""
    run = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **(env or {})}, capture_output=True, text=True, timeout=60
    )
    return run.returncode, run.stdout + run.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-m", "no/such.gguf"), ("no/such.gguf",)),
        (("-m", "README.md"), ("README.md", "GGUF")),
        (("--lora", "no/such.gguf"), ("no/such.gguf", "--lora")),
        (("--ctx-sise", "512"), ("--ctx-sise", "--ctx-size")),
        (("-c", "many"), ("-c", "many", "number")),
    ],
    ids=["missing file", "not a model", "missing adapter", "unknown flag", "bad value"],
)
def test_what_cannot_start_says_why(arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    code, said = ended(sys.executable, "app.py", "--port", str(free_port()), *arguments)
    assert code == 1
    assert "Traceback" not in said
    for word in words:
        assert word in said


def test_a_damaged_model_ends_the_process(default_model: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "cut.gguf"
    with default_model.open("rb") as file:
        damaged.write_bytes(file.read(20_000_000))
    code, said = ended(sys.executable, "app.py", "--port", str(free_port()), "-m", str(damaged))
    assert code != 0
    assert "cut.gguf" in said
    assert "Traceback" not in said


def test_more_than_one_worker_is_refused() -> None:
    code, said = ended(*GUNICORN, "-w", "2", env={"LLAMA_ARG_PORT": str(free_port())})
    assert code != 0
    assert "one worker per model" in said


def test_a_port_that_is_taken(real_server: RunningServer, default_model: Path) -> None:
    code, said = ended(sys.executable, "app.py", "-m", str(default_model), "--port", str(real_server.port))
    assert code == 1
    assert f"cannot listen on 127.0.0.1:{real_server.port}: " in said.splitlines()[-1]
    assert "--port" in said.splitlines()[-1]


def test_gunicorn_with_settings_from_the_environment(default_model: Path, tmp_path: Path) -> None:
    port = free_port()
    env = {
        **os.environ,
        "LLAMA_ARG_MODEL": str(default_model),
        "LLAMA_ARG_PORT": str(port),
        "LLAMA_API_KEY": "sesame",
        "LLAMA_ARG_ALIAS": "small",
        "LLAMA_ARG_CTX_SIZE": "1024",
    }
    with RunningServer(tmp_path / "log", command=GUNICORN, port=port, env=env, wait=False) as server:
        seen = until_ready(server)
        assert {status for status, _ in seen} == {503}
        for _, body in seen:
            assert body == {
                "error": {"code": 503, "message": "Loading model", "type": "unavailable_error", "param": None}
            }
        with pytest.raises(urllib.error.HTTPError) as refused:
            server.get("/v1/models")
        with refused.value as answer:
            assert answer.code == 401
            assert json.load(answer)["error"]["type"] == "authentication_error"
        body = {"prompt": "Hello", "max_tokens": 2}
        for header in ({"Authorization": "Bearer sesame"}, {"X-Api-Key": "sesame"}):
            assert server.post("/v1/completions", body, header)["model"] == "small"
        body["prompt"] = "word " * 1100
        with pytest.raises(urllib.error.HTTPError) as long:
            server.post("/v1/completions", body, {"X-Api-Key": "sesame"})
        with long.value as answer:
            assert json.load(answer)["error"]["n_ctx"] == 1024
        server.process.terminate()
        assert server.process.wait(10) == 0


def until_ready(server: RunningServer) -> list[tuple[int, object]]:
    """Every answer of /health before it says ok."""
    seen: list[tuple[int, object]] = []
    end = time.monotonic() + 120
    while time.monotonic() < end and server.process.poll() is None:
        try:
            with urllib.request.urlopen(f"{server.url}/health", timeout=5):
                return seen
        except urllib.error.HTTPError as error:
            with error:
                seen.append((error.code, json.load(error)))
        except OSError:
            pass
        time.sleep(0.02)
    raise AssertionError(server.log.read_text())
