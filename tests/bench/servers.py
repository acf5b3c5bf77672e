"""Servers under measurement: ours and, where there is one, a rival's binary on the same model."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Server:
    """A server process that is up; use as a context manager."""

    def __init__(self, name: str, command: list[str], port: int, log: Path) -> None:
        self.name = name
        self.url = f"http://127.0.0.1:{port}"
        self._log = log.open("wb")
        self.started = time.perf_counter()
        self._process = subprocess.Popen(command, stdout=self._log, stderr=subprocess.STDOUT, cwd=ROOT)
        self.ready_after = self._wait()

    def _wait(self) -> float:
        while time.perf_counter() - self.started < 300:
            if self._process.poll() is not None:
                raise RuntimeError(f"{self.name} ended with {self._process.returncode}; see {self._log.name}")
            try:
                with urllib.request.urlopen(f"{self.url}/health", timeout=2) as answer:
                    if json.load(answer).get("status") == "ok":
                        return time.perf_counter() - self.started
            except (urllib.error.URLError, OSError, ValueError):
                pass
            time.sleep(0.05)
        raise RuntimeError(f"{self.name} was not ready after 300 s; see {self._log.name}")

    def memory(self) -> dict[str, float]:
        """Resident and peak resident memory in MB of the largest process of the server."""
        processes = [self._process.pid, *_children(self._process.pid)]
        return max((_status(pid) for pid in processes), key=lambda m: m["peak"])

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(40)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()


def ours(model: Path, port: int, log: Path, *arguments: str) -> Server:
    """Our server on `model`."""
    command = [
        sys.executable,
        "app.py",
        "-m",
        str(model),
        "--port",
        str(port),
        "-np",
        "8",
        "--kv-unified",
        "-c",
        "8192",
        *arguments,
    ]
    return Server("ours", command, port, log)


def rival(binary: Path, model: Path, port: int, log: Path, *arguments: str) -> Server:
    """A llama-server binary on `model`, with as many slots and threads, and one pool of context as ours has."""
    shape = ["-np", "8", "-c", "8192", "--kv-unified", "-t", str(len(_affinity()))]
    return Server("llama.cpp", [str(binary), "-m", str(model), "--port", str(port), *shape, *arguments], port, log)


def _affinity() -> set[int]:
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))


def _children(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(child) for child in text.split()]


def _status(pid: int) -> dict[str, float]:
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
    megabytes = {key: int(fields[name].split()[0]) * 1024 / 1e6 for key, name in (("rss", "VmRSS"), ("peak", "VmHWM"))}
    return megabytes
