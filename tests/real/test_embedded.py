"""Two models in somebody's own Flask application, under gunicorn, beside its own pages."""

import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.running import ROOT, RunningServer, free_port

pytestmark = pytest.mark.real_model

HOST = """
from flask import Flask

from llama.api import Service
from llama.settings import Settings
from llama.web import create_blueprint

app = Flask(__name__)
for name, model, keys in (("small", {small!r}, ()), ("tiny", {tiny!r}, ("k",))):
    service = Service(Settings(model=model, alias=(name,), parallel=2, ctx_size=512, api_key=keys))
    app.register_blueprint(create_blueprint(service), url_prefix=f"/{{name}}", name=name)


@app.get("/")
def home():
    return "the host's own page"


@app.get("/health")
def health():
    return {{"status": "ok"}}
"""


def test_two_models_in_a_host(default_model: Path, shared: Path, tmp_path: Path) -> None:
    tiny = shared / "models" / "stories260K.gguf"
    (tmp_path / "host.py").write_text(HOST.format(small=str(default_model), tiny=str(tiny)))
    port = free_port()
    (tmp_path / "host.conf.py").write_text(
        f"bind = '127.0.0.1:{port}'; worker_class = 'gthread'; threads = 16; control_socket_disable = True\n"
        f"pythonpath = {f'{tmp_path},{ROOT}'!r}\n"
    )
    command = [sys.executable, "-m", "gunicorn", "-c", str(tmp_path / "host.conf.py"), "host:app"]
    with RunningServer(tmp_path / "log", command=command, port=port) as server:
        with urllib.request.urlopen(f"{server.url}/", timeout=10) as answer:
            assert answer.read() == b"the host's own page"
        for name, headers in (("small", {}), ("tiny", {"X-Api-Key": "k"})):
            wait_for(f"{server.url}/{name}/health")
            reply = server.post(f"/{name}/v1/completions", {"prompt": "Once", "max_tokens": 4}, headers)
            assert reply["model"] == name
            assert reply["usage"]["completion_tokens"] == 4
        with pytest.raises(urllib.error.HTTPError, match="401") as refused:
            server.post("/tiny/v1/completions", {"prompt": "Once"})
        refused.value.close()
        events = server.stream(
            "/small/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}], "stream": True}
        )
        assert events[-1] == "[DONE]"
        server.process.terminate()
        assert server.process.wait(20) == 0


def wait_for(url: str) -> None:
    """Return when `url` answers 200: the first request starts the loading."""
    for _ in range(600):
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except urllib.error.HTTPError as error:
            error.close()
        time.sleep(0.1)
    raise AssertionError(f"{url} is not ready")
