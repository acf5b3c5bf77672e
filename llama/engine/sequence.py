"""One choice of one request on its way through the engine."""

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from llama.engine.cache import Chain
from llama.engine.handle import Handle
from llama.engine.model import Loaded
from llama.engine.request import (
    Event,
    Finished,
    Logprobs,
    PromptProgress,
    PromptScored,
    Request,
    Timings,
    Token,
)
from llama.engine.writer import End, Writer


class Sequence:
    """A choice: its tokens so far, how many of them the cache holds, and who writes the next one.

    It is waiting while `chain` is None. `pending` tokens are still to be evaluated: one while it speaks, more while it
    reads its prompt or comes back after it had to give up its blocks.
    """

    __slots__ = (
        "admitted",
        "arrival",
        "cache_n",
        "came_back",
        "chain",
        "first_token",
        "handle",
        "index",
        "leader",
        "n_prompt",
        "prompt_done",
        "request",
        "scores",
        "slot",
        "tokens",
        "truncated",
        "writer",
    )

    def __init__(self, request: Request, index: int, handle: Handle, loaded: Loaded) -> None:
        self.request, self.index, self.handle = request, index, handle
        self.writer = Writer(request, index, loaded)
        self.tokens = list(request.prompt)
        self.n_prompt = len(self.tokens)
        self.arrival = (0, index)
        self.leader: Sequence | None = None  # the first choice, which reads the prompt for all
        self.chain: Chain | None = None
        self.slot = -1
        self.cache_n = 0
        self.admitted = self.prompt_done = self.first_token = 0.0
        self.truncated = False
        self.came_back = False  # it had to give up its blocks once, and reads again what it had read
        self.scores: list[Logprobs | None] | None = None if request.prompt_logprobs is None or index else [None]

    @property
    def pending(self) -> int:
        """Tokens that are not in the cache yet."""
        return len(self.tokens) - (self.chain.length if self.chain else 0)

    @property
    def pinned(self) -> bool:
        """True if the caller named the slot; the other choices go where there is room."""
        return self.request.id_slot >= 0 and not self.index

    @property
    def ready(self) -> bool:
        """False while the first choice is still reading the prompt that this one shares."""
        leader = self.leader
        return leader is None or leader.prompt_done > 0 or leader.handle.over

    @property
    def reusable(self) -> int:
        """How many first tokens may come from the cache: the last one's logits are needed, and those of scored ones."""
        if self.scores is not None and len(self.scores) < self.n_prompt:
            return len(self.scores) - 1
        fresh = not self.request.cache_prompt and self.leader is None and not self.prompt_done
        return 0 if fresh else len(self.tokens) - 1

    def start(self, chain: Chain, slot: int, now: float) -> None:
        """Enter a slot, with the cache blocks that were found."""
        self.chain, self.slot = chain, slot
        if not self.admitted:
            self.admitted, self.cache_n = now, chain.length
            self.report_progress(now)

    def report_progress(self, now: float) -> None:
        """Tell how far the prompt has been read, if the caller wants to know."""
        if self.request.progress and not self.index and not self.prompt_done and self.chain is not None:
            passed = (now - self.admitted) * 1000
            self.publish(PromptProgress(0, self.n_prompt, self.cache_n, self.chain.length, passed, self.slot))

    def report_scores(self) -> None:
        """Send the prompt's log-probabilities; the other choices send those of the first."""
        scores = self.scores if self.leader is None else self.leader.scores
        if scores is not None:
            self.publish(PromptScored(self.index, tuple(scores)))

    @property
    def scoring(self) -> bool:
        """True while log-probabilities of the prompt are still missing."""
        return self.scores is not None and len(self.scores) < self.n_prompt

    def outputs(self, n: int) -> int:
        """Of the next `n` pending tokens, how many last ones' logits are needed."""
        chain = self.chain
        if self.scores is not None and chain is not None and len(self.scores) < self.n_prompt:
            return max(0, min(n, chain.length + n - (len(self.scores) - 1)))
        return int(n == self.pending)

    def score(self, logits: NDArray[np.float32]) -> None:
        """Note the log-probabilities of the prompt's next tokens.   logits: (rows, n_vocab)"""
        if self.scores is None:
            return
        for row in logits[: self.n_prompt - len(self.scores)]:
            token = self.tokens[len(self.scores)]
            logprob, top = self.writer.sampler.logprobs(row, token, self.request.prompt_logprobs or 0)
            rank = int(np.count_nonzero(row >= row[token]))
            self.scores.append(replace(self.writer.named(token, logprob, top), rank=rank))

    def write(self, logits: NDArray[np.float32], room: int) -> End | None:
        """Say the next token; the text ends with it if an End is returned."""
        writer, begun = self.writer, self.first_token
        now = time.monotonic()
        end = writer.write(logits, room, (now - begun) * 1000 if begun else 0.0)
        self.tokens.append(writer.token)
        if not begun:
            self.first_token = now
        if end is None or end.stop_token is None:
            token = Token(self.index, writer.token, writer.text, writer.logprobs, self.timings(now), self.slot)
            self.publish(token)
        return end

    def report_end(self, end: End, n_cached: int) -> None:
        """Send the last event of this choice."""
        writer = self.writer
        self.publish(
            Finished(
                index=self.index,
                reason=end.reason,
                text=end.text,
                stopping_word=writer.stopping_word,
                truncated=end.truncated or self.truncated,
                timings=self.timings(time.monotonic()),
                n_tokens=writer.n_tokens,
                has_new_line=writer.has_new_line,
                tokens_cached=n_cached,
                id_slot=self.slot,
                stop_token=end.stop_token,
                logprobs=None if end.stop_token is None else writer.logprobs,
                dropped=end.dropped,
            )
        )

    def publish(self, event: Event) -> None:
        self.handle.publish(event)

    def timings(self, now: float) -> Timings:
        """Counts and times up to `now`."""
        prompt_ms = ((self.first_token or now) - self.admitted) * 1000 if self.admitted else 0.0
        predicted_ms = (now - self.first_token) * 1000 if self.first_token else 0.0
        return Timings(self.cache_n, self.n_prompt - self.cache_n, prompt_ms, self.writer.n_tokens, predicted_ms)
