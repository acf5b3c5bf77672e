"""A sampler as a request uses it: order, penalties, biases, the grammar's last word, reports."""

from collections.abc import Iterable

import numpy as np
import pytest
from numpy.typing import NDArray

from llama.errors import GrammarError, InvalidRequest
from llama.sampling import DEFAULT_SAMPLERS, Sampler, SamplingParams, SamplingVocab, sampler_names

VOCAB = SamplingVocab(5, frozenset({4}), [b"a", b"b", b"ab", b"\n", b"</s>"], lambda text: [0] * len(text), end=4)
OFF = {"top_k": 0, "top_p": 1.0, "min_p": 0.0}


class Only:
    """A constraint that allows a fixed set of tokens."""

    finished = False
    may_end = False

    def __init__(self, allowed: Iterable[int], n: int = 5) -> None:
        self._mask = np.isin(np.arange(n), list(allowed))
        self.taken: list[int] = []

    def accepts(self, token: int) -> bool:
        return bool(self._mask[token])

    def mask(self) -> NDArray[np.bool_]:
        return self._mask

    def advance(self, token: int) -> None:
        self.taken.append(token)


def row(*logits: float) -> NDArray[np.float32]:
    return np.array([*logits, -9.0][:5], np.float32)


def probabilities(params: SamplingParams, logits: NDArray[np.float32], history: Iterable[int] = ()) -> dict[int, float]:
    """What the chain leaves, with probabilities."""
    vocab = SamplingVocab(len(logits), frozenset(), VOCAB.pieces, VOCAB.encode)
    sampled = Sampler(params, vocab, list(history)).sample(logits)
    assert sampled.probs is not None
    return dict(sampled.probs)


def reporting(**changes: object) -> SamplingParams:
    return SamplingParams(**{"seed": 1, "post_sampling_probs": True, "n_probs": 5, **changes})  # type: ignore[arg-type]


def test_filters_see_the_probabilities_before_temperature() -> None:
    logits = np.array([5.0, 4.0, 0.0, -3.0], np.float32)
    flat = probabilities(reporting(temperature=1e6, **OFF), logits)
    assert list(flat.values()) == pytest.approx([0.25] * 4, abs=1e-4)
    assert list(probabilities(reporting(temperature=1e6, top_k=1), logits)) == [0]
    assert set(probabilities(reporting(temperature=2.0, top_k=0, top_p=1.0, min_p=0.2), logits)) == {0, 1}
    hot_first = reporting(temperature=1e6, top_k=0, top_p=1.0, min_p=0.2, samplers=("temperature", "min_p"))
    assert len(probabilities(hot_first, logits)) == 4


@pytest.mark.parametrize("changes", [{"top_p": 0.1, "top_k": 2}, {"seed": 7}, {"temperature": -1.0}, {"min_p": 1.0}])
def test_temperature_zero_takes_the_first_of_the_largest(changes: dict[str, object]) -> None:
    for logits, best in ((row(2, 1, 0.5, 0), 0), (row(1, 2, 2, 0), 1)):
        sampled = Sampler(reporting(**{"temperature": 0.0, **changes}), VOCAB).sample(logits)
        assert (sampled.token, sampled.prob, sampled.probs) == (best, 1.0, ((best, 1.0),))


def logits_after(history: list[int], **changes: float) -> list[float]:
    """The logits [0, 2, 2, 2, -1] after penalties, up to a constant that makes the first one 0."""
    params = reporting(temperature=1.0, **OFF, **changes)
    logits = np.array([0, 2.0, 2.0, 2.0, -1.0], np.float32)
    found = probabilities(params, logits, history)
    return [float(np.log(found[id] / found[0])) for id in range(5)]


def test_penalties_count_the_prompt_and_each_by_its_own_rule() -> None:
    history = [1, 1, 2, 3, 3]
    assert logits_after(history, presence_penalty=1.0) == pytest.approx([0, 1, 1, 1, -1], abs=1e-5)
    assert logits_after(history, frequency_penalty=0.5) == pytest.approx([0, 1, 1.5, 1, -1], abs=1e-5)
    assert logits_after(history, repeat_penalty=2.0) == pytest.approx([0, 1, 1, 1, -1], abs=1e-5)
    assert logits_after([4], repeat_penalty=2.0) == pytest.approx([0, 2, 2, 2, -2], abs=1e-5)
    assert logits_after(history, repeat_penalty=2.0, repeat_last_n=0) == pytest.approx([0, 2, 2, 2, -1], abs=1e-5)
    assert logits_after(history, repeat_penalty=2.0, repeat_last_n=2) == pytest.approx([0, 2, 2, 1, -1], abs=1e-5)
    both = {"repeat_penalty": 2.0, "presence_penalty": 0.25, "frequency_penalty": 0.5}
    assert logits_after(history, **both) == pytest.approx([0, -0.25, 0.25, -0.25, -1], abs=1e-5)


def test_the_window_forgets() -> None:
    sampler = Sampler(SamplingParams(temperature=0.0, presence_penalty=5.0, repeat_last_n=2), VOCAB)
    said = []
    for _ in range(6):
        said.append(sampler.sample(row(3, 2, 1, 0)).token)
        sampler.accept(said[-1])
    assert said == [0, 1, 2, 0, 1, 2]


def test_extreme_values_never_break_it() -> None:
    for changes in (
        {"repeat_penalty": 1e30, "presence_penalty": -1e38, "frequency_penalty": 1e38},
        {"logit_bias": ((0, 1e300), (1, -1e300), (2, float("nan")), (99, 1.0), (-1, 1.0))},
        {"temperature": 1e-44},
        {"temperature": 1e30},
        {"dry_multiplier": 1e30, "dry_base": 1e30, "dry_allowed_length": 0},
        {"dynatemp_range": 1e30, "dynatemp_exponent": -3.0},
        {"mirostat": 1, "mirostat_tau": -1e3},
        {"mirostat": 2, "mirostat_tau": 1e3, "mirostat_eta": 1e9},
        {"samplers": ("adaptive_p",), "adaptive_target": 1e9, "adaptive_decay": 7.0},
        {"samplers": ("infill",)},
        {"logit_bias": tuple((id, float("-inf")) for id in range(5))},
    ):
        for scale in (0.0, 1.0, 1e30):
            sampler = Sampler(SamplingParams(seed=3, **changes), VOCAB, [0, 1, 0, 1, 0])  # type: ignore[arg-type]
            for _ in range(5):
                token = sampler.sample(row(2, 1, 0, -1) * np.float32(scale)).token
                assert 0 <= token < 5
                sampler.accept(token)


def test_biases_add_up_and_ban() -> None:
    def best(**changes: object) -> int:
        return Sampler(SamplingParams(temperature=0.0, **changes), VOCAB).sample(row(3, 2, 1, 0)).token  # type: ignore[arg-type]

    assert best(logit_bias=((1, 0.6), (1, 0.6))) == 1
    assert best(logit_bias=((0, float("-inf")),)) == 1
    assert best(logit_bias=((0, float("-inf")), (0, 100.0))) == 1
    assert best(logit_bias=((77, 100.0),)) == 0
    assert best(logit_bias=((2, float("-inf")),)) == 0
    assert best(logit_bias=((0, -1.0), (1, 0.5))) == 1
    assert best(logit_bias=((0, -1.0),)) == 0  # a tie: the first
    assert best(logit_bias=((0, -1.5),)) == 1


def test_end_tokens_wait_for_min_tokens_or_never_come() -> None:
    logits = np.array([1, 0, 0, 0, 9], np.float32)
    sampler = Sampler(SamplingParams(temperature=0.0, min_tokens=2), VOCAB)
    said = []
    for _ in range(3):
        said.append(sampler.sample(logits).token)
        sampler.accept(said[-1])
    assert said == [0, 0, 4]
    assert Sampler(SamplingParams(temperature=0.0, ignore_eos=True), VOCAB).sample(logits).token == 0


def test_a_refused_token_is_picked_again_among_the_allowed() -> None:
    constraint = Only({2, 3})
    sampler = Sampler(reporting(temperature=1.0, top_k=1), VOCAB, constraint=constraint)
    sampled = sampler.sample(row(9, 8, 1, 0))
    assert sampled.token == 2
    assert sampled.probs == ((2, 1.0),)
    sampler.accept(sampled.token)
    assert constraint.taken == [2]
    assert sampler.sample(row(9, 8, 1, 0), constrained=False).token == 0
    sampler.accept(0, constrained=False)
    assert constraint.taken == [2]


def test_the_grammar_wins_over_bans_and_says_so_when_it_is_stuck() -> None:
    params = SamplingParams(temperature=0.8, ignore_eos=True, min_tokens=5, logit_bias=((3, float("-inf")),))
    assert Sampler(params, VOCAB, constraint=Only({4})).sample(row(9, 8, 1, 0)).token == 4
    assert Sampler(params, VOCAB, constraint=Only({3, 4})).sample(row(9, 8, 1, 0)).token == 3
    with pytest.raises(GrammarError, match="allows no token"):
        Sampler(params, VOCAB, constraint=Only({})).sample(row(9, 8, 1, 0))


def test_a_row_longer_than_the_mask_is_cut() -> None:
    vocab = SamplingVocab(8, frozenset({4}), [b""] * 8, lambda _: [])
    logits = np.arange(8, dtype=np.float32)
    constraint = Only({1, 2})
    constraint.accepts = lambda token: token in (1, 2)  # type: ignore[method-assign]
    assert Sampler(SamplingParams(temperature=0.0), vocab, constraint=constraint).sample(logits).token == 2


def test_seeds() -> None:
    def text(seed: int | None, choice: int = 0) -> list[int]:
        sampler = Sampler(SamplingParams(seed=seed, temperature=3.0), VOCAB, choice=choice)
        return [sampler.sample(row(1, 1, 1, 1)).token for _ in range(40)]

    assert text(5) == text(5)
    assert text(5, choice=1) == text(6)
    assert text(5) != text(6)
    assert len({tuple(text(None)) for _ in range(3)} | {tuple(text(0xFFFFFFFF)) for _ in range(3)}) == 6
    assert text(2**32 - 2, choice=3) == text(1)


def test_reports_are_of_the_raw_logits() -> None:
    sampler = Sampler(SamplingParams(temperature=0.1, logit_bias=((0, -50.0),)), VOCAB)
    logits = np.log(np.array([0.5, 0.25, 0.125, 0.125, 0.0], np.float32) + np.float32(1e-45))
    logits[4] = -np.inf
    chosen, top = sampler.logprobs(logits, 1, 2)
    assert chosen == pytest.approx(np.log(0.25), abs=1e-6)
    assert [id for id, _ in top] == [0, 1]
    assert top[0][1] == pytest.approx(np.log(0.5), abs=1e-6)
    assert sampler.logprobs(logits, 4, 0) == (float(np.finfo(np.float32).min), ())
    assert len(sampler.logprobs(logits, 1, 99)[1]) == 5


def test_dry_hurts_what_goes_on_with_a_repeat() -> None:
    # the end "0 1" stood before, followed by 2; "\n" (3) breaks
    params = SamplingParams(temperature=0.0, dry_multiplier=1.0, dry_base=2.0, dry_allowed_length=2)
    assert Sampler(params, VOCAB, [0, 1, 2, 0, 1]).sample(row(0, 0, 0.9, 0)).token == 0
    assert Sampler(params, VOCAB, [0, 1, 2, 0, 1]).sample(row(0, 0, 1.1, 0)).token == 2
    assert Sampler(params, VOCAB, [2, 0, 1, 2, 0, 1, 2, 0, 1]).sample(row(0, 0, 15.9, 0)).token == 0
    assert Sampler(params, VOCAB, [2, 0, 1, 2, 0, 1, 2, 0, 1]).sample(row(0, 0, 16.1, 0)).token == 2
    assert Sampler(params, VOCAB, [0, 1, 2, 3, 0, 1]).sample(row(0, 0, 0.9, 0)).token == 0
    assert Sampler(params, VOCAB, [1, 2, 0, 3, 1]).sample(row(0, 0, 0.9, 0)).token == 2


def test_sampler_names() -> None:
    assert sampler_names("edskypmxt") == DEFAULT_SAMPLERS
    assert sampler_names(["Top-K", "minp", "nucleus", "temp", "typical", "adaptive-p"]) == (
        "top_k",
        "min_p",
        "top_p",
        "temperature",
        "typ_p",
        "adaptive_p",
    )
    assert sampler_names("penalties;top_k; temperature") == ("penalties", "top_k", "temperature")
    assert sampler_names("") == sampler_names([]) == ()
    for bad in (["top_z"], "kz", "top_k;nope"):
        with pytest.raises(InvalidRequest, match=r"there are: penalties \(e\), dry") as caught:
            sampler_names(bad)
        assert caught.value.field == "samplers"
