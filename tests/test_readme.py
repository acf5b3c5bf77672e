"""Every example of the README runs, against the default model under real gunicorn."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.running import RunningServer

ROOT = Path(__file__).resolve().parents[1]
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
EXAMPLES = [(language, code) for language, code in BLOCKS if language in ("bash", "python")]


@pytest.mark.real_model
@pytest.mark.parametrize(("language", "code"), EXAMPLES, ids=range(len(EXAMPLES)))
def test_example_runs(
    language: str, code: str, real_server: RunningServer, default_model: Path, tmp_path: Path
) -> None:
    code = code.replace("127.0.0.1:8080", real_server.base).replace("my.gguf", str(default_model))
    script = tmp_path / f"example.{language}"
    script.write_text(
        code.replace("curl ", "curl -sf ")
        if language == "bash"
        else f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"
    )
    command = ["bash", str(script)] if language == "bash" else [sys.executable, str(script)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr[-2000:]
    assert result.stdout.strip()
    if language == "bash":
        if "data: " in result.stdout:
            assert result.stdout.rstrip().endswith("data: [DONE]")
        else:
            assert json.loads(result.stdout)["choices"]
