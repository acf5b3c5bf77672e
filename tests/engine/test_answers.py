"""What one request gets: text, ends, limits, counts, reports."""

import math

import numpy as np
import pytest

from llama.engine.request import PromptProgress, ReasoningBudget, Request
from llama.errors import GrammarError
from llama.sampling import SamplingParams
from tests.engine.drive import GREEDY, Answer, Driver, ask, events_of, fold, lone, running
from tests.fakes import ByteVocab, HashModel, ScriptedModel, noise

PROMPT = tuple(b"Say it: ")


def say(script: str | list[str | bytes], **wishes: object) -> Answer:
    """The answer of a model that wants to say `script`."""
    return Driver(ScriptedModel(script)).answer(Request(prompt=PROMPT, sampling=GREEDY, **wishes))  # type: ignore[arg-type]


def test_a_text_ends_with_the_models_end_token() -> None:
    answer = say("Hello<|end|>")
    assert answer.text == "Hello"
    assert answer.end.reason == "eos"
    assert answer.end.n_tokens == 6
    assert answer.end.stop_token == ByteVocab().token_id("<|end|>")
    assert [token.text for token in answer.tokens] == list("Hello")


@pytest.mark.parametrize(
    ("stop", "pieces", "text", "n", "dropped"),
    [
        (("\nUser:", "own fox"), ["The", " quick", " br", "own", " fox", " jumps"], "The quick br", 5, 2),
        (("beta gamma",), ["alpha ", "beta", " gam", "ma delta"], "alpha ", 4, 3),
    ],
)
def test_stop_strings_across_tokens(stop: tuple[str, ...], pieces: list[str], text: str, n: int, dropped: int) -> None:
    answer = say(list(pieces), stop=stop)
    assert (answer.text, answer.end.reason, answer.end.n_tokens, answer.end.dropped) == (text, "word", n, dropped)
    assert answer.end.stopping_word == stop[-1]


def test_the_stop_string_may_stay() -> None:
    answer = say(["a", "b ", "c"], stop=("b",), include_stop=True)
    assert (answer.text, answer.end.dropped) == ("ab", 0)


def test_text_that_was_held_back_is_given_at_the_limit_and_at_the_end_token() -> None:
    limited = say("abcdef", stop=("cdX",), n_predict=4)
    assert (limited.text, limited.end.reason, limited.end.text) == ("abcd", "limit", "cd")
    ended = say("abcd", stop=("cdX",))
    assert (ended.text, ended.end.reason) == ("abcd", "eos")


def test_half_a_character_at_the_limit_becomes_one_replacement() -> None:
    answer = say(["A", b"\xf0\x9f", b"\x98\xb8"], n_predict=2)
    assert (answer.text, answer.end.reason) == ("A\ufffd", "limit")
    whole = say(["A", b"\xf0\x9f", b"\x98\xb8"])
    assert [token.text for token in whole.tokens] == ["A", "", "😸"]


def test_stop_tokens_end_the_text_and_are_not_shown() -> None:
    answer = say("abXcd", stop_token_ids=frozenset(b"X"))
    assert (answer.text, answer.end.reason, answer.end.stop_token) == ("ab", "eos", ord("X"))
    assert say("abXcd", stop_token_ids=frozenset(b"X"), include_stop=True).text == "abX"


def test_before_min_tokens_nothing_ends_the_text() -> None:
    wishes = {"stop": ("b",), "stop_token_ids": frozenset(b"c")}
    for n, text in ((0, "a"), (2, "a"), (3, "abXa"), (5, "abXa"), (6, "abXabXa"), (9, "abXabXabX")):
        sampling = SamplingParams(temperature=0, min_tokens=n, logit_bias=((ord("X"), 10.0),))
        request = Request(prompt=PROMPT, sampling=sampling, n_predict=9, **wishes)  # type: ignore[arg-type]
        answer = Driver(ScriptedModel("abcd", lead=20)).answer(request)
        assert answer.end.n_tokens >= n
        assert answer.text == text


def test_control_tokens_are_shown_when_asked_for() -> None:
    script = "a<|im_start|>b<|end|>"
    assert say(script).text == "ab"
    assert say(script, special=True).text == "a<|im_start|>b<|end|>"
    start = ByteVocab().token_id("<|im_start|>")
    assert say(script, preserved=frozenset({start})).text == "a<|im_start|>b"


def test_no_tokens_wanted_reads_the_prompt_only() -> None:
    answer = say("Hello", n_predict=0)
    assert (answer.text, answer.end.n_tokens, answer.end.reason) == ("", 0, "limit")
    assert answer.end.tokens_cached == len(PROMPT)
    assert answer.end.timings.prompt_n == len(PROMPT)


def test_an_indentation_rule_ends_the_text() -> None:
    answer = say("a\n  b\nc", n_indent=2)
    assert (answer.text, answer.end.reason, answer.end.has_new_line) == ("a\n  b\n", "limit", True)


def test_the_time_limit_acts_on_line_ends() -> None:
    model = ScriptedModel("abcdefgh\nij\nkl", delay=0.003)
    answer = Driver(model).answer(Request(prompt=PROMPT, sampling=GREEDY, t_max_predict_ms=1))
    assert (answer.text, answer.end.reason) == ("abcdefgh\n", "limit")


def test_counts_are_exact_when_the_prompt_is_known() -> None:
    driver = Driver(HashModel(), n_ctx=256, n_cells=256)
    request = Request(prompt=tuple(range(77)), sampling=GREEDY, n_predict=3)
    first, again = driver.answer(request), driver.answer(request)
    assert (first.end.timings.cache_n, first.end.timings.prompt_n) == (0, 77)
    assert (again.end.timings.cache_n, again.end.timings.prompt_n) == (76, 1)
    assert again.end.timings.predicted_n == 3
    fresh = driver.answer(Request(prompt=request.prompt, sampling=GREEDY, n_predict=3, cache_prompt=False))
    assert (fresh.end.timings.cache_n, fresh.end.timings.prompt_n) == (0, 77)
    assert first.ids == again.ids == fresh.ids


def test_timings_are_finite_and_the_first_token_belongs_to_the_prompt() -> None:
    one = say("abc", n_predict=1).end.timings
    assert (one.predicted_n, one.predicted_ms >= 0) == (1, True)
    timings = say("abc").end.timings
    assert all(math.isfinite(value) and value >= 0 for value in (timings.prompt_ms, timings.predicted_ms))


def test_log_probabilities_are_those_of_the_raw_logits() -> None:
    driver = Driver(HashModel())
    answer = driver.answer(Request(prompt=(1, 2, 3), sampling=SamplingParams(temperature=0, n_probs=3), n_predict=2))
    history = [1, 2, 3]
    for token in answer.tokens:
        logits = noise(history, driver.loop.loaded.model.n_vocab).astype(np.float64)
        logprobs = logits - np.log(np.exp(logits).sum())
        report = token.logprobs
        assert report is not None
        assert report.chosen.id == token.id == report.top[0].id
        assert report.chosen.logprob == pytest.approx(logprobs[token.id], abs=1e-4)
        assert [p.logprob for p in report.top] == pytest.approx(sorted(logprobs)[:-4:-1], abs=1e-4)
        history.append(token.id)


def test_the_end_token_is_reported_too() -> None:
    answer = say("a", n_predict=5)
    assert answer.end.logprobs is None
    driver = Driver(ScriptedModel("a"))
    end = driver.answer(Request(prompt=PROMPT, sampling=SamplingParams(temperature=0, n_probs=1))).end
    assert end.logprobs is not None
    assert end.logprobs.chosen.id == end.stop_token


@pytest.mark.parametrize("cached", [False, True])
def test_the_prompt_can_be_scored(cached: bool) -> None:
    driver = Driver(HashModel(), n_batch=4)
    prompt = tuple(range(20, 31))
    if cached:
        driver.answer(Request(prompt=prompt, sampling=GREEDY, n_predict=2))
    answer = driver.answer(Request(prompt=prompt, sampling=GREEDY, n_predict=0, prompt_logprobs=2))
    assert answer.scored is not None
    scores = answer.scored.logprobs
    assert len(scores) == len(prompt)
    assert scores[0] is None
    for at, score in enumerate(scores[1:], 1):
        logits = noise(prompt[:at], driver.loop.loaded.model.n_vocab).astype(np.float64)
        assert score is not None
        assert score.chosen.id == prompt[at]
        assert score.chosen.logprob == pytest.approx(logits[prompt[at]] - np.log(np.exp(logits).sum()), abs=1e-4)
        assert len(score.top) == 2


def test_every_choice_brings_the_scores() -> None:
    driver = Driver(HashModel())
    handle = driver.submit(Request(prompt=(1, 2, 3), sampling=GREEDY, n=2, n_predict=1, prompt_logprobs=0))
    driver.run()
    one, two = fold(events_of(handle))
    assert one.scored is not None
    assert two.scored is not None
    assert one.scored.logprobs == two.scored.logprobs


def test_progress_is_told_from_the_cached_part_to_the_whole_prompt() -> None:
    driver = Driver(HashModel(), n_batch=8)
    driver.answer(Request(prompt=tuple(range(10)), sampling=GREEDY, n_predict=0))
    handle = driver.submit(Request(prompt=tuple(range(40)), sampling=GREEDY, n_predict=1, progress=True))
    driver.run()
    reports = [event for event in events_of(handle) if isinstance(event, PromptProgress)]
    assert [report.processed for report in reports] == [10, 18, 26, 34, 40]
    assert {(report.cache, report.total) for report in reports} == {(10, 40)}
    times = [report.time_ms for report in reports]
    assert times == sorted(times)


def test_a_thought_over_its_budget_is_ended() -> None:
    vocab = ByteVocab()
    start, close = vocab.encode("<think>"), vocab.encode("</think>")
    thought = ReasoningBudget(n=3, start=tuple(start), end=(*b" enough", *close), close=tuple(close))
    script = "<think>let me see, hm</think>"
    answer = say(script, reasoning_budget=thought, n_predict=14)
    assert answer.text.startswith("<think>let enough</think>")
    free = ReasoningBudget(n=-1, start=tuple(start), end=tuple(close))
    assert say(script, reasoning_budget=free).text == script


class OnlyDigits:
    """A grammar of three digits."""

    def __init__(self, vocab: ByteVocab, break_at: int = 99) -> None:
        self.said, self.vocab, self.break_at = 0, vocab, break_at

    def accepts(self, token: int) -> bool:
        return bool(self.mask()[token])

    def mask(self) -> np.ndarray:
        mask = np.zeros(self.vocab.n_vocab, bool)
        mask[sorted(self.vocab.eog) if self.said == 3 else list(b"0123456789")] = True
        return mask

    def advance(self, token: int) -> None:
        if self.said == self.break_at:
            raise GrammarError("out of luck")
        self.said += 1

    @property
    def finished(self) -> bool:
        return self.said == 3

    may_end = finished


def test_a_grammar_has_the_last_word() -> None:
    answer = say("Hello", constraint=lambda: OnlyDigits(ByteVocab()))
    assert len(answer.text) == 3
    assert answer.text.isdigit()
    assert answer.end.reason == "eos"


def test_a_request_whose_grammar_breaks_fails_alone() -> None:
    driver = Driver(HashModel(), n_cells=200)
    good = driver.submit(Request(prompt=(1, 2, 3), sampling=GREEDY, n_predict=9))
    bad = driver.submit(
        Request(
            prompt=(1, 2, 4), sampling=GREEDY, n=2, n_predict=9, constraint=lambda: OnlyDigits(ByteVocab(), break_at=1)
        )
    )
    driver.run()
    assert fold(events_of(good))[0].ids == lone((1, 2, 3), 9)
    with pytest.raises(GrammarError, match="out of luck"):
        fold(events_of(bad))
    assert driver.loop.memory.pool.available == driver.loop.memory.pool.n_blocks


def test_the_engine_gives_the_same() -> None:
    with running(ScriptedModel("Hello<|end|>")) as engine:
        assert ask(engine, Request(prompt=PROMPT, sampling=GREEDY)).text == "Hello"
