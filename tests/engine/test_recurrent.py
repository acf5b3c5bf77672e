"""Recurrent models: their state cannot be cut, so texts go on where a checkpoint stands."""

from llama.engine.request import Request
from tests.engine.drive import GREEDY, Driver, lone
from tests.fakes import HashModel


def driver_of(**limits: int) -> Driver:
    return Driver(HashModel(has_state=True), **({"n_ctx": 2048, "n_cells": 4096, "n_batch": 256} | limits))


def ask(driver: Driver, prompt: list[int], n: int = 4) -> int:
    """Check the answer and return how many tokens came from the cache."""
    answer = driver.answer(Request(prompt=tuple(prompt), sampling=GREEDY, n_predict=n))
    assert answer.ids == lone(prompt, n)
    return answer.end.timings.cache_n


def test_the_same_prompt_again_reads_its_last_token_only() -> None:
    driver = driver_of()
    prompt = [i % 11 for i in range(77)]
    assert [ask(driver, prompt) for _ in range(3)] == [0, 76, 76]


def test_a_conversation_goes_on_where_it_ended() -> None:
    driver = driver_of()
    prompt = [i % 13 for i in range(50)]
    ask(driver, prompt)
    assert ask(driver, prompt + lone(prompt, 4) + [1, 2, 3]) == 53


def test_prompts_that_part_in_the_middle_meet_at_an_interval() -> None:
    driver = driver_of()
    stem = [i % 17 for i in range(1100)]
    ask(driver, [*stem, 1, 2])
    assert ask(driver, [*stem, 2, 2]) == 1024


def test_only_so_many_checkpoints_are_kept() -> None:
    driver = driver_of(n_checkpoints=2)
    for start in range(6):
        ask(driver, [start, 1, 2, 3, 4, 5])
    assert ask(driver, [0, 1, 2, 3, 4, 5]) == 0
    assert ask(driver, [0, 1, 2, 3, 4, 5]) == 5


def test_without_checkpoints_everything_is_read_each_time() -> None:
    driver = driver_of(n_checkpoints=0)
    assert [ask(driver, [1, 2, 3, 4]) for _ in range(2)] == [0, 0]
    assert driver.loop.memory.pool.available == driver.loop.memory.pool.n_blocks
