"""Turns one row of logits after another into the tokens and the text of one choice, until it ends."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from llama.engine.budget import Thought
from llama.engine.model import Loaded
from llama.engine.request import FinishReason, Logprobs, Request, TokenProb
from llama.engine.stopper import Indentation, Stopper
from llama.sampling import Sampled, Sampler, SamplingVocab
from llama.tokenizer import Detokenizer


@dataclass(frozen=True, slots=True)
class End:
    """Why a choice ends, and the text that was held back until then."""

    reason: FinishReason
    text: str = ""
    stop_token: int | None = None
    truncated: bool = False
    dropped: int = 0


class Writer:
    """Everything that belongs to writing one choice: sampler, grammar, reasoning budget, detokenizer, stop rules.

    After `write`, `token`, `text` and `logprobs` are those of the token just picked; `n_tokens` counts them all.
    """

    def __init__(self, request: Request, index: int, loaded: Loaded) -> None:
        self.request = request
        self.constraint = request.constraint() if request.constraint else None
        vocab = sampling_vocab(request, loaded.sampling)
        self.sampler = Sampler(request.sampling, vocab, request.prompt, self.constraint, index)
        self.thought = Thought(request.reasoning_budget) if request.reasoning_budget else None
        self._vocab = loaded.vocab
        self._detokenizer = Detokenizer(loaded.vocab, special=request.special, preserved=request.preserved)
        self._stopper = Stopper(request.stop, include=request.include_stop)
        self._indentation = Indentation(request.n_indent) if request.n_indent else None
        self._starts: list[int] | None = [] if request.stop else None  # where each token's text begins
        self._chars = 0
        self._end_tokens = loaded.vocab.eog | request.stop_token_ids
        self.n_tokens = 0
        self.has_new_line = False
        self.token = -1
        self.text = ""
        self.logprobs: Logprobs | None = None

    @property
    def stopping_word(self) -> str:
        return self._stopper.word

    def write(self, logits: NDArray[np.float32], room: int, elapsed_ms: float) -> End | None:
        """Pick the next token from `logits` (n_vocab,); say whether the text ends with it.

        `room` is how many more tokens the context holds once this one is in it, `elapsed_ms` the time since the first.
        """
        forced = self._forced()
        sampled = self.sampler.sample(logits) if forced is None else Sampled(forced, None)
        self.token = token = sampled.token
        if self.request.sampling.n_probs:
            self.logprobs = self._report(logits, token, sampled)
        self.sampler.accept(token)
        if self.thought is not None:
            self.thought.accept(token)
        self.n_tokens += 1
        if token in self._end_tokens:
            return self._end_by_token(token)
        text = self._detokenizer.feed(token)
        return self._say(text, room, elapsed_ms)

    def _forced(self) -> int | None:
        if self.thought is None:
            return None
        token = self.thought.next(self._detokenizer.pending)
        if token is not None and self.constraint is not None and not self.constraint.accepts(token):
            self.thought.give_up()
            return None
        return token

    def _end_by_token(self, token: int) -> End:
        shown = token in self._vocab.eog or self.request.include_stop
        text = self._stopper.flush() + (self._detokenizer.feed(token) if shown else "") + self._detokenizer.flush()
        self.text = ""
        return End("eos", text, stop_token=token)

    def _say(self, text: str, room: int, elapsed_ms: float) -> End | None:
        """Pass the text of a token through the stop rules."""
        if self._starts is not None:
            self._starts.append(self._chars)
        new_line = "\n" in text
        self.has_new_line |= new_line
        if self._indentation is not None:
            text = self._indentation.feed(text)
        early = self.n_tokens < self.request.sampling.min_tokens
        self.text = self._stopper.skip(text) if early else self._stopper.feed(text)
        self._chars += len(text)
        if self._stopper.word:
            return End("word", dropped=self._dropped())
        if self._indentation is not None and self._indentation.broken:
            return End("limit", self._stopper.flush())
        if self.n_tokens == self.request.n_predict or (new_line and 0 <= self.request.t_max_predict_ms < elapsed_ms):
            return self._end_by_limit()
        if room <= 0:
            return self._end_by_limit(truncated=True)
        if not self._end_tokens and self.constraint is not None and self.constraint.finished:
            return self._end_by_limit(reason="eos")  # a vocabulary without end tokens
        return None

    def _end_by_limit(self, *, truncated: bool = False, reason: FinishReason = "limit") -> End:
        rest = self._stopper.feed(self._detokenizer.flush()) + self._stopper.flush()
        return End(reason, rest, truncated=truncated)

    def _dropped(self) -> int:
        """How many last tokens lie wholly behind the place where the stop string begins."""
        if self.request.include_stop or self._starts is None:
            return 0
        return sum(1 for start in self._starts if start >= self._stopper.shown)

    def _report(self, logits: NDArray[np.float32], token: int, sampled: Sampled) -> Logprobs:
        n = self.request.sampling.n_probs
        if self.request.sampling.post_sampling_probs:
            # a forced token was certain
            probs, mine = sampled.probs or ((token, 1.0),), 1.0 if sampled.prob is None else sampled.prob
            return Logprobs(self._with_prob(token, mine), tuple(self._with_prob(id, p) for id, p in probs[:n]))
        logprob, top = self.sampler.logprobs(logits, token, n)
        return self.named(token, logprob, top)

    def _with_prob(self, token: int, prob: float) -> TokenProb:
        logprob = math.log(prob) if prob > 0 else -math.inf
        return TokenProb(token, self._vocab.piece(token, special=True), logprob, prob)

    def named(self, token: int, logprob: float, top: Iterable[tuple[int, float]]) -> Logprobs:
        """A position's report with the texts of its tokens."""
        piece = self._vocab.piece
        chosen = TokenProb(token, piece(token, special=True), logprob)
        return Logprobs(chosen, tuple(TokenProb(id, piece(id, special=True), p) for id, p in top))


def sampling_vocab(request: Request, vocab: SamplingVocab) -> SamplingVocab:
    """The vocabulary for a request's sampler: with `min_tokens`, its stop tokens are as impossible as end tokens."""
    if not request.stop_token_ids or not request.sampling.min_tokens or request.sampling.ignore_eos:
        return vocab
    return replace(vocab, eog=vocab.eog | request.stop_token_ids)
