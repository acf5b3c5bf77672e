"""Many clients for minutes, a third of them leaving early: nothing may be lost, memory stays flat, /health stays quick.

    python tests/bench/soak.py                                   64 clients, 300 seconds, the default model
    python tests/bench/soak.py --seconds 60 --clients 16 -m a.gguf --threads-http 200

Flags that are not ours go to the server. With its defaults some requests are refused with 503 and Retry-After, as
they should be: 64 connections at a time leave room for /health only so.

Ends with 1 when something was lost, when /health took too long, or when memory grew.
"""

import argparse
import contextlib
import http.client
import itertools
import json
import multiprocessing
import random
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from llama.cli.model import default_model_path
from tests.bench.servers import Server, ours

HEALTH_LIMIT = 0.1  # seconds
GROWTH_LIMIT = 0.05  # of the memory at half time: before that the cache fills
WORDS = ["river", "stone", "green", "seven", "letter", "under", "window", "music", "paper", "light", "hand", "winter"]


@dataclass
class Tally:
    """What came of all the requests. Counting is safe from any thread."""

    ends: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    tokens: int = 0
    seconds: list[float] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, end: str, tokens: int = 0, seconds: float | None = None) -> None:
        """A request ended as it should."""
        with self.lock:
            self.ends[end] += 1
            self.tokens += tokens
            if seconds is not None:
                self.seconds.append(seconds)

    def lose(self, why: str) -> None:
        """A request did not get what it was owed."""
        with self.lock:
            self.lost.append(why)


class Client(threading.Thread):
    """Sends one request after the other until time is up; every third leaves early."""

    def __init__(self, number: int, port: int, tally: Tally, end: float) -> None:
        super().__init__(daemon=True)
        self._number, self._port, self._tally, self._end = number, port, tally, end
        self._random = random.Random(number)

    def run(self) -> None:
        """The loop."""
        for turn in itertools.count(self._number):
            if time.monotonic() >= self._end:
                return
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=300)
            try:
                self._ask(connection, leaves=turn % 3 == 0)
            except (OSError, http.client.HTTPException, ValueError) as error:
                self._tally.lose(f"{type(error).__name__}: {error}")
            finally:
                connection.close()

    def _ask(self, connection: http.client.HTTPConnection, *, leaves: bool) -> None:
        chance = self._random
        body = {
            "messages": [{"role": "user", "content": " ".join(chance.choices(WORDS, k=chance.randint(3, 120)))}],
            "max_tokens": chance.randint(4, 48),
            "seed": chance.randrange(1 << 30),
            "stream": chance.random() < 0.6,
            "stream_options": {"include_usage": True},
        }
        start = time.monotonic()
        connection.request("POST", "/v1/chat/completions", json.dumps(body))
        if leaves:
            time.sleep(chance.random() * 3.0)
            self._leave(connection, bool(body["stream"]))
            return
        response = connection.getresponse()
        if response.status == 503:
            response.read()
            self._tally.note("refused: queue full")
            time.sleep(float(response.headers.get("Retry-After", "1")))
            return
        if response.status != 200:
            self._tally.lose(f"HTTP {response.status}: {response.read()[:200]!r}")
            return
        usage = _streamed(response) if body["stream"] else json.load(response)["usage"]
        seconds = time.monotonic() - start
        self._tally.note("streamed" if body["stream"] else "whole", usage["completion_tokens"], seconds)

    def _leave(self, connection: http.client.HTTPConnection, stream: bool) -> None:
        if stream and self._random.random() < 0.5 and connection.sock is not None:
            connection.sock.settimeout(2.0)
            with contextlib.suppress(TimeoutError):  # still in the queue: leaves from there
                connection.getresponse().read(200)
        self._tally.note("left early")


def _streamed(response: http.client.HTTPResponse) -> Any:
    """The usage of a stream that is complete. Raises ValueError if it is not."""
    events = [line[6:].strip() for line in response if line.startswith(b"data: ")]
    if not events or events[-1] != b"[DONE]":
        raise ValueError("a stream ended without [DONE]")
    chunks = [json.loads(event) for event in events[:-1]]
    failed = [chunk["error"] for chunk in chunks if "error" in chunk]
    if failed:
        raise ValueError(f"a stream ended with an error: {failed[0]}")
    if not any(choice["finish_reason"] for chunk in chunks for choice in chunk["choices"]):
        raise ValueError("a stream ended without a reason")
    return chunks[-1]["usage"]


def look(port: int, seconds: float) -> tuple[list[float], list[str]]:
    """Seconds that /health took, several times a second, and what went wrong. Runs in a process of its own: in the
    clients' process their threads would make it wait."""
    took: list[float] = []
    failed: list[str] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            connection.request("GET", "/health")
            status = connection.getresponse().status
            if status != 200:
                failed.append(f"HTTP {status}")
        except OSError as error:
            failed.append(str(error))
        finally:
            connection.close()
        took.append(time.monotonic() - start)
        time.sleep(0.2)
    return took, failed


def remember(server: Server, seconds: float) -> list[float]:
    """Resident memory of the server in MB at the end of each tenth of the time."""
    start = time.monotonic()
    course = []
    for tenth in range(1, 11):
        time.sleep(max(0.0, start + seconds * tenth / 10 - time.monotonic()))
        course.append(server.memory()["rss"])
    return course


def soak(server: Server, port: int, n_clients: int, seconds: float) -> bool:
    """Run it and print what came of it; True if all went well."""
    tally = Tally()
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        pool.submit(look, port, 0.5).result()
        looking = pool.submit(look, port, seconds)
        end = time.monotonic() + seconds
        clients = [Client(number, port, tally, end) for number in range(n_clients)]
        for client in clients:
            client.start()
        memory = remember(server, seconds)
        took, failed = looking.result()
    for client in clients:
        client.join(300)
    stuck = sum(client.is_alive() for client in clients)
    return report(tally, stuck + _idle(port), took, failed, memory, seconds)


def report(tally: Tally, held: int, took: list[float], failed: list[str], memory: list[float], seconds: float) -> bool:
    """Print the figures; True if they are good."""
    times, took = sorted(tally.seconds) or [0.0], sorted(took)
    growth = memory[-1] / memory[4] - 1
    print(f"requests: {dict(tally.ends)}, {tally.tokens} tokens, {tally.tokens / seconds:.0f} a second")
    print(f"seconds for an answer: median {statistics.median(times):.1f}, longest {times[-1]:.1f}")
    print(f"lost: {len(tally.lost)} {Counter(tally.lost).most_common(3)}, still held: {held}")
    quick = " ".join(f"{took[int(share * (len(took) - 1))] * 1e3:.1f}" for share in (0.5, 0.99, 1))
    slow = sum(value > HEALTH_LIMIT for value in took)
    print(f"/health (ms), median, 99 % and slowest: {quick}; {slow} of {len(took)} too slow; failures: {failed[:3]}")
    print(f"memory (MB) after each tenth: {' '.join(f'{value:.0f}' for value in memory)}; second half {growth:+.1%}")
    return not (tally.lost or held or failed or took[-1] > HEALTH_LIMIT or growth > GROWTH_LIMIT)


def _idle(port: int) -> int:
    """Requests that the server still holds a moment after everybody has left."""
    time.sleep(1.0)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/v1/requests")
    held = len(json.load(connection.getresponse())["data"])
    connection.close()
    return held


def main() -> int:
    """Start the server, soak it; the exit code."""
    parser = argparse.ArgumentParser(description="Many clients for minutes, a third of them leaving early.")
    parser.add_argument("-m", "--model", type=Path, help="a model file instead of the default model")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--port", type=int, default=18123)
    arguments, flags = parser.parse_known_args()
    model = arguments.model or default_model_path()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with ours(model, arguments.port, log, *flags) as server:
            good = soak(server, arguments.port, arguments.clients, arguments.seconds)
        wrong = [line for line in log.read_text(errors="replace").splitlines() if " E " in line or "Traceback" in line]
        print(f"errors in the log: {len(wrong)} {wrong[:3]}")
    return int(not good or bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
