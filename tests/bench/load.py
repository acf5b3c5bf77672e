"""A client that measures: streamed completions of random token ids, alone and many at once.

Prompts are drawn from a seeded generator and never repeated, so that no prompt cache helps; `ignore_eos` keeps every
generation at full length.
"""

import http.client
import json
import random
import threading
import time
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Timing:
    """Seconds to the first token, seconds in all, tokens generated, and the longest pause between two frames."""

    first: float
    total: float
    tokens: int
    longest_gap: float


def complete(url: str, prompt: list[int], max_tokens: int, timeout: float = 300.0) -> Timing:
    """Stream one completion of `prompt`."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout)
    body = {
        "model": "bench",
        "prompt": prompt,
        "max_tokens": max_tokens,
        "temperature": 0,
        "ignore_eos": True,
        "cache_prompt": False,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    start = time.perf_counter()
    connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    if response.status != 200:
        raise RuntimeError(f"{url}: HTTP {response.status}: {response.read()[:300]!r}")
    timing = _read(response, start, max_tokens)
    connection.close()
    return timing


def _read(response: http.client.HTTPResponse, start: float, max_tokens: int) -> Timing:
    first, last, gap, tokens = 0.0, 0.0, 0.0, 0
    for line in response:
        if not line.startswith(b"data:"):
            continue
        now = time.perf_counter()
        first = first or now - start
        gap = max(gap, now - last) if last else gap
        last = now
        if line[5:].strip() == b"[DONE]":
            break
        event = json.loads(line[5:])
        if "error" in event:
            raise RuntimeError(f"stream failed: {event['error']}")
        if event.get("usage"):
            tokens = event["usage"]["completion_tokens"]
    total = time.perf_counter() - start
    return Timing(first or total, total, tokens or max_tokens, gap)


class Prompts:
    """Random prompts of token ids within a range that every vocabulary has."""

    def __init__(self, seed: int = 1, lowest: int = 300) -> None:
        self._random = random.Random(seed)
        self._lowest = lowest

    def draw(self, n: int) -> list[int]:
        """A prompt of `n` ids."""
        return [self._random.randrange(self._lowest, self._lowest + 400) for _ in range(n)]


def prefill(url: str, prompts: Prompts, n: int = 512) -> float:
    """Prompt tokens a second, one request with a long prompt and one token out."""
    return n / complete(url, prompts.draw(n), 1).total


def decode(url: str, prompts: Prompts, n: int = 128, context: int = 16) -> float:
    """Tokens a second of one stream after a prompt of `context` tokens."""
    timing = complete(url, prompts.draw(context), n)
    return (timing.tokens - 1) / (timing.total - timing.first)


def together(url: str, prompts: Prompts, streams: int = 8, n: int = 128) -> float:
    """Tokens a second of all streams together, prompts of 64 tokens included."""
    results: list[Timing] = []
    failures: list[BaseException] = []

    def work(prompt: list[int]) -> None:
        try:
            results.append(complete(url, prompt, n))
        except BaseException as error:  # noqa: BLE001 - raised again below, in the caller's thread
            failures.append(error)

    threads = [threading.Thread(target=work, args=(prompts.draw(64),)) for _ in range(streams)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return sum(r.tokens for r in results) / (time.perf_counter() - start)


def stall(url: str, prompts: Prompts, n: int = 2000) -> float:
    """How many times its usual pause a running stream's longest pause is when a prompt of `n` tokens arrives."""
    usual = complete(url, prompts.draw(16), 64)
    pause = (usual.total - usual.first) / (usual.tokens - 1)
    result: list[Timing] = []
    stream = threading.Thread(target=lambda: result.append(complete(url, prompts.draw(16), 300)))
    stream.start()
    time.sleep(20 * pause)
    complete(url, prompts.draw(n), 1)
    stream.join()
    return result[0].longest_gap / pause
