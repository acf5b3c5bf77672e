"""Ten thousand damaged files: each opens or is refused by name, at once and in little memory."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
N = 10_000


def test_damaged_files_open_or_are_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.modelfile.mutations", str(tmp_path), str(N), "2024"]
    child = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert child.returncode == 0, child.stderr[-2000:]
    result = json.loads(child.stdout)
    assert result["refused"] + result["opened"] == N
    assert result["refused"] > N // 2
    assert result["slowest"] < 1
