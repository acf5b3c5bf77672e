"""What a request may say about how tokens are picked. Names and defaults are llama-server's."""

from dataclasses import dataclass

DEFAULT_SAMPLERS = ("penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature")


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingParams:
    """How to pick the next token; already checked and clamped by whoever made it."""

    temperature: float = 0.8
    dynatemp_range: float = 0.0
    dynatemp_exponent: float = 1.0
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    top_n_sigma: float = -1.0
    typical_p: float = 1.0
    xtc_probability: float = 0.0
    xtc_threshold: float = 0.1
    repeat_last_n: int = 64
    repeat_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    dry_multiplier: float = 0.0
    dry_base: float = 1.75
    dry_allowed_length: int = 2
    dry_penalty_last_n: int = 64
    dry_sequence_breakers: tuple[str, ...] = ("\n", ":", '"', "*")
    mirostat: int = 0
    mirostat_tau: float = 5.0
    mirostat_eta: float = 0.1
    adaptive_target: float = -1.0
    adaptive_decay: float = 0.9
    samplers: tuple[str, ...] = DEFAULT_SAMPLERS
    min_keep: int = 0
    logit_bias: tuple[tuple[int, float], ...] = ()
    allowed_token_ids: tuple[int, ...] | None = None  # only these may be picked
    bad_words: tuple[tuple[int, ...], ...] = ()  # token sequences that are not said
    ignore_eos: bool = False
    min_tokens: int = 0  # end-of-generation tokens are impossible before so many tokens
    seed: int | None = None  # uint32; None: a random one for this request
    n_probs: int = 0  # how many most probable tokens to report, beside the chosen one; 0 = no report
    post_sampling_probs: bool = False  # report probabilities after the chain, not of the raw logits
