"""Eight clients, secrets in their prompts, shared beginnings, leaving early, a cache that is too small."""

import random
import threading

from llama.engine import Engine
from llama.engine.request import Request
from tests.engine.drive import GREEDY, fold, lone, running
from tests.fakes import HashModel

REQUESTS = 80


def client(engine: Engine, number: int, problems: list[str]) -> None:
    rng = random.Random(number)
    stem = b"USER says: please keep this to yourself. "
    for _ in range(REQUESTS):
        secret = f"secret{number}-{rng.randint(0, 2)}".encode()
        prompt = tuple(stem[: rng.randint(1, len(stem))] + secret * rng.randint(1, 5))
        n = rng.randint(1, 40)
        handle = engine.submit(Request(prompt=prompt, sampling=GREEDY, n_predict=n, n=rng.choice([1, 1, 2])))
        if rng.random() < 0.3:
            handle.events(rng.random() * 0.01)
            handle.cancel()
            continue
        for answer in fold(list(handle)):
            if answer.ids != lone(prompt, n):
                problems.append(f"{prompt!r}: {answer.ids}")


def test_nobody_ever_gets_anything_of_another() -> None:
    problems: list[str] = []
    with running(HashModel(), n_slots=4, n_ctx=128, n_cells=128, n_queue=100) as engine:
        threads = [threading.Thread(target=client, args=(engine, number, problems)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        assert not problems
        assert engine.n_waiting == 0
        assert engine.metrics.n_preempted > 0
        assert engine._worker.loop is not None
        pool = engine._worker.loop.memory.pool
        pool.check()
        assert pool.available == pool.n_blocks
