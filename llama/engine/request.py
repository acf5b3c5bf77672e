"""What the engine is asked, and what it answers: plain frozen values that cross threads."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from llama.grammar import Constraint
from llama.sampling.params import SamplingParams

FinishReason = Literal["eos", "word", "limit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One prompt and how to continue it, `n` times."""

    prompt: tuple[int, ...]
    sampling: SamplingParams = field(default_factory=SamplingParams)
    n: int = 1
    n_predict: int = -1  # -1: until the end token, a stop string or the end of the context
    stop: tuple[str, ...] = ()
    stop_token_ids: frozenset[int] = frozenset()
    include_stop: bool = False  # the stop string stays in the text
    constraint: Callable[[], Constraint] | None = None  # makes a fresh one for each choice
    special: bool = False  # control tokens are shown as text
    preserved: frozenset[int] = frozenset()  # control tokens that are shown as text all the same
    prompt_logprobs: int | None = None  # report the prompt's log-probabilities, with so many alternatives
    cache_prompt: bool = True
    lora: tuple[float, ...] = ()  # how strong each adapter is; (): none is used
    id_slot: int = -1
    n_keep: int = 0  # tokens kept on a context shift; -1: the whole prompt
    n_discard: int = 0  # tokens dropped on a shift; 0: half of the rest
    n_indent: int = 0  # end when a line is indented by less
    t_max_predict_ms: int = -1  # time limit, looked at on line ends
    progress: bool = False  # report PromptProgress while the prompt is read
    reasoning_budget: "ReasoningBudget | None" = None
    id: str = ""  # the public id, for listing and cancelling


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningBudget:
    """At most `n` tokens between a start and an end marker; then the end is forced, token by token. -1: no limit."""

    n: int
    start: tuple[int, ...]
    end: tuple[int, ...]  # what is forced, message included
    already_open: bool = False
    close: tuple[int, ...] = ()  # the end marker alone, by which a thought that ends itself is known; (): `end`


@dataclass(frozen=True, slots=True)
class TokenProb:
    """A token with its natural log-probability (or, with post_sampling_probs, its probability in `prob`)."""

    id: int
    piece: bytes
    logprob: float
    prob: float | None = None


@dataclass(frozen=True, slots=True)
class Logprobs:
    """One position: the token that stands there and the most probable ones, best first."""

    chosen: TokenProb
    top: tuple[TokenProb, ...]
    rank: int | None = None  # of a prompt's token: its place by probability, 1 for the likeliest


@dataclass(frozen=True, slots=True)
class Timings:
    """Counts and milliseconds of one choice so far; the first token's time belongs to the prompt."""

    cache_n: int = 0
    prompt_n: int = 0
    prompt_ms: float = 0.0
    predicted_n: int = 0
    predicted_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class PromptProgress:
    """The prompt is being read: `processed` of `total` tokens are done, `cache` of them came from the cache."""

    index: int
    total: int
    cache: int
    processed: int
    time_ms: float
    id_slot: int = 0


@dataclass(frozen=True, slots=True)
class PromptScored:
    """The prompt's log-probabilities, one entry a token, the first None. Sent once, before any token."""

    index: int
    logprobs: tuple[Logprobs | None, ...]


@dataclass(frozen=True, slots=True)
class Token:
    """A token was picked. `text` is what may be shown now: "" while a stop string or half a character is held back.

    The token that ends the text (an end token or one of `stop_token_ids`) is not sent: `Finished.stop_token` names it.
    """

    index: int  # choice, 0 .. n - 1
    id: int
    text: str
    logprobs: Logprobs | None
    timings: Timings
    id_slot: int = 0


@dataclass(frozen=True, slots=True)
class Finished:
    """A choice is complete. `text` is the rest that was held back. Sent once for each choice."""

    index: int
    reason: FinishReason
    text: str
    stopping_word: str
    truncated: bool  # the context was full, or was shifted
    timings: Timings
    n_tokens: int  # tokens picked, the end token included
    has_new_line: bool = False
    tokens_cached: int = 0  # tokens now kept in the cache for this choice
    id_slot: int = 0
    stop_token: int | None = None  # the end or stop token that ended it
    logprobs: Logprobs | None = None  # of that token, when they were asked for
    dropped: int = 0  # trailing tokens whose text was cut away by the stop string


@dataclass(frozen=True, slots=True)
class Failed:
    """The request ends with this error; no more events follow."""

    error: Exception = field(compare=False)


Event = Token | Finished | Failed | PromptProgress | PromptScored
