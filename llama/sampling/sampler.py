"""Picks the tokens of one text, one after the other."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from llama.errors import GrammarError
from llama.grammar import Constraint
from llama.kernels import select
from llama.sampling.adaptive import AdaptiveP
from llama.sampling.bias import Bias, always, banned
from llama.sampling.candidates import NEVER, Candidates, Floats, one_hot
from llama.sampling.chain import Chain
from llama.sampling.draws import RANDOM_SEED, Generator, draw
from llama.sampling.mirostat import Mirostat
from llama.sampling.params import SamplingParams
from llama.sampling.report import Ranked, most_probable, raw_logprobs
from llama.sampling.vocab import SamplingVocab
from llama.sampling.words import BadWords


@dataclass(frozen=True, slots=True)
class Sampled:
    """A picked token.

    With post_sampling_probs: `prob` is its probability after the chain, and `probs` are the up to n_probs likeliest
    survivors as (id, probability), best first.
    """

    token: int
    probs: tuple[tuple[int, float], ...] | None = None
    prob: float | None = None


class Sampler:
    """How one text is continued: `sample` picks a token, `accept` says which one was taken.

    prompt_tokens are seen by penalties and DRY. choice is the number of the text among those of one request: choice i
    uses seed + i. A constraint has the last word: whatever the parameters say, no token is picked that it refuses.
    """

    def __init__(
        self,
        params: SamplingParams,
        vocab: SamplingVocab,
        prompt_tokens: Sequence[int] = (),
        constraint: Constraint | None = None,
        choice: int = 0,
    ) -> None:
        self.seed = _seed(params.seed, choice)
        self._params = params
        self._vocab = vocab
        self._constraint = constraint
        self._chain = Chain(params, vocab, self.seed)
        self._bias = always(params, vocab)
        self._too_early = Bias(banned(vocab.eog), vocab.n_vocab) if params.min_tokens > 0 else None
        self._bad_words = BadWords(params.bad_words) if params.bad_words else None
        self._only = _only(params.allowed_token_ids, vocab.n_vocab)
        self._n_accepted = 0
        self._generator = Generator(self.seed)
        self._mirostat = _mirostat(params, vocab, self._generator)
        self._adaptive = _adaptive(params, self._generator)
        memory = self._chain.memory
        for token in prompt_tokens[-memory:] if memory else ():
            self._chain.push(token)

    def sample(self, logits: Floats, *, constrained: bool = True) -> Sampled:
        """Picks the next token by `logits`, (n_vocab,) float32, which stay as they are.

        A token that the constraint refuses is picked again among those that it allows. Raises GrammarError when it
        allows none. With constrained=False the constraint is not asked (while a thought runs, for example).
        """
        sampled = self._pick(logits)
        constraint = self._constraint if constrained else None
        if constraint is None or constraint.accepts(sampled.token):
            return sampled
        allowed = _allowed(logits, constraint.mask())
        sampled = self._pick(allowed)
        if constraint.accepts(sampled.token):
            return sampled
        everything = Candidates(self._vocab.ids[: len(allowed)], allowed)
        return self._result(everything, select.argmax(allowed), None)  # all that the constraint allows was banned

    def accept(self, token: int, *, constrained: bool = True) -> None:
        """Takes `token` into the text: windows, running estimates and, if `constrained`, the constraint advance."""
        self._n_accepted += 1
        self._chain.push(token)
        if self._bad_words:
            self._bad_words.push(token)
        if self._adaptive:
            self._adaptive.accept(token)
        if self._constraint is not None and constrained:
            self._constraint.advance(token)

    def logprobs(self, logits: Floats, token: int, n: int) -> tuple[float, Ranked]:
        """The natural log-probability of `token` by the raw logits, and the `n` most probable tokens with theirs."""
        return raw_logprobs(logits, token, n)

    def _candidates(self, logits: Floats) -> Candidates:
        if self._only is not None:
            return Candidates(self._only, logits[self._only])
        return Candidates(self._vocab.ids[: len(logits)], logits, whole=True)

    def _biases(self) -> list[Bias]:
        """What counts at this place of the text."""
        biases = [self._bias] if self._bias else []
        if self._too_early and self._n_accepted < self._params.min_tokens:
            biases.append(self._too_early)
        if self._bad_words and (forbidden := self._bad_words.forbidden()):
            biases.append(Bias(banned(forbidden), self._vocab.n_vocab))
        return biases

    def _pick(self, logits: Floats) -> Sampled:
        """One way through biases, chain and draw."""
        candidates, biases = self._candidates(logits), self._biases()
        if self._chain.greedy and not self._chain.edits:
            best = select.argmax(candidates.logits)
            if all(bias.spares(int(candidates.ids[best])) for bias in biases):
                return self._result(candidates, best, None)  # without a copy of all logits
        for bias in biases:
            candidates = bias.apply(candidates)
        if self._chain.greedy:
            for edit in self._chain.edits:
                candidates = edit(candidates)
            return self._result(candidates, select.argmax(candidates.logits), None)
        return self._draw(self._chain.apply(candidates))

    def _draw(self, candidates: Candidates) -> Sampled:
        if self._mirostat:
            return self._result(*self._mirostat.draw(candidates))
        if self._adaptive:
            return self._result(*self._adaptive.draw(candidates))
        place, probabilities = draw(candidates, self._generator)
        return self._result(candidates, place, probabilities)

    def _result(self, candidates: Candidates, place: int, probabilities: Floats | None) -> Sampled:
        """The picked token, with probabilities if they are wanted; None stands for certainty."""
        token = int(candidates.ids[place])
        if not self._params.post_sampling_probs:
            return Sampled(token)
        if probabilities is None:
            probabilities = one_hot(len(candidates.ids), place)
        ranked = most_probable(candidates.ids, probabilities, self._params.n_probs)
        return Sampled(token, ranked, float(probabilities[place]))


def _only(ids: tuple[int, ...] | None, n_vocab: int) -> NDArray[np.int32] | None:
    """The tokens that may be picked, in their order; None for all."""
    if ids is None:
        return None
    return np.array(sorted({id for id in ids if 0 <= id < n_vocab}), np.int32)


def _seed(seed: int | None, choice: int) -> int:
    if seed is None or seed == RANDOM_SEED:
        return secrets.randbelow(RANDOM_SEED)
    return (seed + choice) % 2**32


def _mirostat(params: SamplingParams, vocab: SamplingVocab, generator: Generator) -> Mirostat | None:
    if not params.mirostat:
        return None
    return Mirostat(params.mirostat, params.mirostat_tau, params.mirostat_eta, vocab.n_vocab, generator)


def _adaptive(params: SamplingParams, generator: Generator) -> AdaptiveP | None:
    if "adaptive_p" not in params.samplers:
        return None
    return AdaptiveP(params.adaptive_target, params.adaptive_decay, generator)


def _allowed(logits: Floats, mask: NDArray[np.bool_]) -> Floats:
    """The logits with everything outside the mask made impossible; tokens beyond the mask's end are outside it."""
    n = min(len(logits), len(mask))
    if not mask[:n].any():
        raise GrammarError("the grammar allows no token of this model's vocabulary here")
    if n == len(logits):
        return select.masked(logits, mask[:n])
    allowed = np.full(len(logits), NEVER)
    allowed[:n] = select.masked(logits[:n], mask[:n])
    return allowed
