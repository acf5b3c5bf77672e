"""Whatever runs beside it, however cut, cached, preempted or copied: every greedy answer is that of a lone run."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llama.engine.loop import Loop
from llama.engine.memory import SharedBlocks
from llama.engine.request import Request
from llama.sampling import SamplingParams
from tests.engine.drive import GREEDY, Driver, events_of, fold, lone
from tests.fakes import HashModel

LORA = [(), (), (0.0, 0.0), (1.0, 0.0), (0.5, 0.25)]
STEMS = [[1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 3, 4, 5, 6, 7, 8, 10], [1, 2, 99], [1] * 17, [50, 51, 52, 53]]


def random_prompt(rng: random.Random) -> tuple[int, ...]:
    """Prompts that share beginnings of any length."""
    stem = rng.choice(STEMS)
    return tuple(stem[: rng.randint(1, len(stem))] + [rng.randint(0, 3) for _ in range(rng.randint(0, 12))])


def check(loop: Loop) -> None:
    loop.memory.pool.check()


@pytest.mark.parametrize("has_state", [False, True])
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 1 << 30))
def test_random_schedules_give_the_answers_of_lone_runs(has_state: bool, seed: int) -> None:
    rng = random.Random(seed)
    driver = Driver(
        HashModel(block_size=rng.choice([1, 2, 4, 5]), has_state=has_state),
        n_slots=rng.randint(1, 5),
        n_ctx=48,
        n_cells=rng.choice([48, 60, 200]),
        n_batch=rng.choice([1, 3, 16, 64]),
    )
    open_requests = []
    for _ in range(rng.randint(3, 25)):
        request = Request(
            prompt=random_prompt(rng),
            sampling=GREEDY,
            n=rng.choice([1, 1, 1, 2, 3]),
            n_predict=rng.choice([0, 1, 2, 5, 9, 30, -1]),
            cache_prompt=rng.random() < 0.8,
            id_slot=rng.choice([-1, -1, -1, 0, 7]),
            prompt_logprobs=rng.choice([None, None, None, 0, 2]),
            lora=rng.choice(LORA),
        )
        open_requests.append((request, driver.submit(request)))
        for _ in range(rng.randint(0, 6)):
            driver.loop.step()
        if rng.random() < 0.2:
            rng.choice(open_requests)[1].cancel()
        check(driver.loop)
    driver.run()
    check(driver.loop)
    assert driver.metrics.n_closed == sum(request.n for request, _ in open_requests)
    if isinstance(driver.loop.memory, SharedBlocks):
        assert driver.loop.memory.pool.available == driver.loop.memory.pool.n_blocks
    for request, handle in open_requests:
        if handle.over:
            continue
        answers = fold(events_of(handle))
        assert len(answers) == request.n
        most = 48 - len(request.prompt) if request.n_predict < 0 else min(request.n_predict, 48 - len(request.prompt))
        for answer in answers:
            assert answer.ids == lone(request.prompt, most, lora=request.lora)
            assert answer.end.timings.cache_n < len(request.prompt)


def test_choices_of_one_request_share_the_prompt_and_go_their_own_ways() -> None:
    driver = Driver(HashModel(), n_slots=4, n_ctx=128, n_cells=512)
    model = driver.loop.loaded.model
    handle = driver.submit(Request(prompt=tuple(range(60)), n=4, n_predict=1, sampling=GREEDY))
    driver.run()
    answers = fold(events_of(handle))
    assert [a.end.timings.cache_n for a in answers] == [0, 59, 59, 59]
    assert model.evaluated == 60 + 3  # type: ignore[attr-defined]


def test_the_same_seed_gives_the_same_text_alone_and_in_company() -> None:
    def request(seed: int) -> Request:
        return Request(prompt=(1, 2, 3, seed), n_predict=20, sampling=SamplingParams(seed=seed, temperature=1.5))

    alone = [Driver(HashModel()).answer(request(seed)).ids for seed in range(6)]
    driver = Driver(HashModel(), n_cells=200)
    handles = [driver.submit(request(seed)) for seed in range(6)]
    driver.run()
    assert [fold(events_of(handle))[0].ids for handle in handles] == alone
