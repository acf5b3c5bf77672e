"""The reasoning budget."""

from llama.engine.budget import Thought
from llama.engine.request import ReasoningBudget

START, END, BYE = 100, 101, 50


def talk(thought: Thought, model: list[int], n: int) -> list[int]:
    """What is said when the model would say `model`, one token of it for each that is not forced."""
    said: list[int] = []
    words = iter(model)
    while len(said) < n:
        forced = thought.next(inside_character=False)
        token = next(words, 0) if forced is None else forced
        thought.accept(token)
        said.append(token)
    return said


def budget(n: int, *, already_open: bool = False) -> Thought:
    return Thought(
        ReasoningBudget(n=n, start=(START,), end=(BYE, END), close=(END,), already_open=already_open),
    )


def test_the_end_is_forced_when_the_budget_is_spent() -> None:
    assert talk(budget(2), [START, 1, 2, 3, 4], 8) == [START, 1, 2, BYE, END, 3, 4, 0]


def test_a_thought_that_ends_in_time_is_left_alone() -> None:
    assert talk(budget(3), [START, 1, END, 2, 3, 4, 5], 7) == [START, 1, END, 2, 3, 4, 5]


def test_zero_ends_an_open_thought_at_once() -> None:
    assert talk(budget(0, already_open=True), [1, 2], 4) == [BYE, END, 1, 2]


def test_a_new_thought_has_a_fresh_budget() -> None:
    assert talk(budget(1), [START, 1, START, 2, 3], 9) == [START, 1, BYE, END, START, 2, BYE, END, 3]


def test_without_a_thought_nothing_is_forced() -> None:
    assert talk(budget(0), [1, 2, 3], 3) == [1, 2, 3]


def test_the_end_waits_for_a_whole_character() -> None:
    thought = budget(0, already_open=True)
    assert thought.next(inside_character=True) is None
    thought.accept(1)
    assert thought.next(inside_character=False) == BYE


def test_somebody_may_end_the_thought_early() -> None:
    thought = budget(-1, already_open=True)
    assert thought.next(inside_character=False) is None
    thought.accept(1)
    assert thought.end()
    assert talk(thought, [2], 3) == [BYE, END, 2]
    assert not thought.end()
