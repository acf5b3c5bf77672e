"""Runs other people's clients against our server: `python tests/clients/run.py NAME...`, or `all`.

Each client is a folder here: `requirements.txt`, and `check.py`, which is given the server's address and ends with 0
when everything holds. A client's environment is made once, in a folder of the temporary directory (--envs names
another one) and needs PyPI; the checks themselves go nowhere but to our server. `make test` does not run these, since
some of the environments are large (lm-eval: 760 MB); what the openai client does is in tests/real as well.

The server is started here, with the default model or the one of -m; --url uses one that runs already.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.running import RunningServer  # noqa: E402 - found through the line above

HERE = Path(__file__).resolve().parent
NAMES = sorted(path.parent.name for path in HERE.glob("*/check.py"))
QUIET = {  # so that nobody looks things up elsewhere
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "LANGSMITH_TRACING": "false",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


def environment(name: str, folder: Path) -> Path:
    """The interpreter of the client's environment, which is made if it is not there or has other versions."""
    wanted = HERE / name / "requirements.txt"
    target = folder / name
    python = target / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    mark = target / "installed.txt"
    if not mark.exists() or mark.read_text() != wanted.read_text():
        print(f"{name}: installing into {target} ...", flush=True)
        venv.create(target, with_pip=True)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", wanted]
        subprocess.run(install, check=True)
        mark.write_text(wanted.read_text())
    return python


def check(name: str, python: Path, url: str) -> bool:
    """Run one client's check; True if it holds."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        command = [python, HERE / name / "check.py", url]
        code = subprocess.run(command, cwd=folder, env={**os.environ, **QUIET}, timeout=900).returncode
    print(f"{name}: {'ok' if code == 0 else 'FAILED'} after {time.monotonic() - start:.1f} s", flush=True)
    return code == 0


def main() -> int:
    """Run the clients that the command line names; 1 if one of them fails."""
    parser = argparse.ArgumentParser(description="Runs other people's clients against our server.")
    parser.add_argument("names", nargs="+", choices=[*NAMES, "all"], metavar="NAME", help=f"{', '.join(NAMES)}, or all")
    parser.add_argument("--envs", type=Path, default=Path(tempfile.gettempdir()) / "llama-server-py-clients")
    parser.add_argument("--url", help="a server that runs already, such as http://127.0.0.1:8080")
    parser.add_argument("-m", "--model", help="a model file instead of the default model")
    arguments = parser.parse_args()
    names = NAMES if "all" in arguments.names else arguments.names
    pythons = {name: environment(name, arguments.envs) for name in names}
    if arguments.url:
        held = [check(name, python, arguments.url) for name, python in pythons.items()]
        return int(not all(held))
    with tempfile.TemporaryDirectory() as folder:
        model = ["-m", arguments.model] if arguments.model else []
        with RunningServer(Path(folder) / "log", *model, "-np", "4", "--kv-unified", "-c", "8192") as server:
            held = [check(name, python, server.url) for name, python in pythons.items()]
    return int(not all(held))


if __name__ == "__main__":
    sys.exit(main())
