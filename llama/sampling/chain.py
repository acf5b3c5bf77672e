"""The chain of filters that a request's parameters ask for, without those that would do nothing."""

from collections.abc import Callable

from llama.sampling import filters
from llama.sampling.candidates import Candidates
from llama.sampling.draws import Generator
from llama.sampling.dry import Dry
from llama.sampling.infill import infill
from llama.sampling.params import SamplingParams
from llama.sampling.penalties import Window, penalties
from llama.sampling.temperature import dynamic, temperature
from llama.sampling.vocab import SamplingVocab

Step = Callable[[Candidates], Candidates]
Maker = Callable[["Chain"], Step | None]

# Filters that never drop the likeliest token, nor change which one it is.
KEEP_THE_BEST = {"top_n_sigma", "top_k", "top_p", "min_p"}
CHANGE_LOGITS = {"penalties", "dry"}


class Chain:
    """Penalties, filters and temperature in the order of `params.samplers`.

    With mirostat only the temperature is left. `greedy` says that the result is the largest logit after `edits`, so
    that no filter need run.
    """

    def __init__(self, params: SamplingParams, vocab: SamplingVocab, seed: int) -> None:
        self.params = params
        self.vocab = vocab
        self.window = Window(params.repeat_last_n) if _penalises(params) else None
        self.dry = _dry(params, vocab)
        self.xtc_generator = Generator(seed) if params.xtc_probability > 0 else None
        names = ("temperature",) if params.mirostat else params.samplers
        made = [(name, MAKERS[name](self)) for name in names]
        steps = [(name, step) for name, step in made if step]
        self._steps = tuple(step for _, step in steps)
        self.edits = tuple(step for name, step in steps if name in CHANGE_LOGITS)
        self.greedy = not params.mirostat and _is_greedy(params, [name for name, _ in steps])

    def push(self, token: int) -> None:
        """Tell the windows of penalties and DRY the next token of the text."""
        if self.window:
            self.window.push(token)
        if self.dry:
            self.dry.push(token)

    @property
    def memory(self) -> int:
        """How many of the last tokens can make a difference."""
        sizes = (self.params.repeat_last_n if self.window else 0, self.params.dry_penalty_last_n if self.dry else 0)
        return max(sizes)

    def apply(self, candidates: Candidates) -> Candidates:
        """What is left of the candidates, with the logits to draw by."""
        for step in self._steps:
            candidates = step(candidates)
        return candidates


def _is_greedy(params: SamplingParams, names: list[str]) -> bool:
    """True if the steps come to: edit the logits, take the largest."""
    if (
        params.temperature > 0
        or params.dynatemp_range > 0
        or "temperature" not in names
        or "adaptive_p" in params.samplers
    ):
        return False
    before, after = names[: names.index("temperature")], names[names.index("temperature") + 1 :]
    edits = [name in CHANGE_LOGITS for name in before]
    edits_first = edits == sorted(edits, reverse=True)
    return edits_first and set(before) <= KEEP_THE_BEST | CHANGE_LOGITS and set(after) <= KEEP_THE_BEST


def _penalises(p: SamplingParams) -> bool:
    changes = p.repeat_penalty != 1 or p.presence_penalty != 0 or p.frequency_penalty != 0
    return p.repeat_last_n > 0 and changes and not p.mirostat


def _dry(params: SamplingParams, vocab: SamplingVocab) -> Dry | None:
    if params.dry_multiplier == 0 or params.dry_base < 1 or params.dry_penalty_last_n <= 0 or params.mirostat:
        return None
    return Dry(
        params.dry_multiplier,
        params.dry_base,
        params.dry_allowed_length,
        params.dry_penalty_last_n,
        vocab.breakers(params.dry_sequence_breakers),
    )


def _penalties(chain: Chain) -> Step | None:
    p, window = chain.params, chain.window
    if window is None:
        return None
    return lambda c: penalties(c, window, p.repeat_penalty, p.presence_penalty, p.frequency_penalty)


def _dry_step(chain: Chain) -> Step | None:
    return chain.dry.apply if chain.dry else None


def _top_n_sigma(chain: Chain) -> Step | None:
    n = chain.params.top_n_sigma
    return (lambda c: filters.top_n_sigma(c, n)) if n > 0 else None


def _top_k(chain: Chain) -> Step | None:
    k = chain.params.top_k
    return (lambda c: filters.top_k(c, k)) if k > 0 else None


def _typical(chain: Chain) -> Step | None:
    p = chain.params
    return (lambda c: filters.typical(c, p.typical_p, p.min_keep)) if p.typical_p < 1 else None


def _top_p(chain: Chain) -> Step | None:
    p = chain.params
    return (lambda c: filters.top_p(c, p.top_p, p.min_keep)) if p.top_p < 1 else None


def _min_p(chain: Chain) -> Step | None:
    p = chain.params
    return (lambda c: filters.min_p(c, p.min_p, p.min_keep)) if p.min_p > 0 else None


def _xtc(chain: Chain) -> Step | None:
    p, generator = chain.params, chain.xtc_generator
    if generator is None or p.xtc_threshold > 0.5:
        return None

    def step(candidates: Candidates) -> Candidates:
        if len(candidates.ids) < 2 or generator.single() > p.xtc_probability:
            return candidates
        return filters.xtc(candidates, p.xtc_threshold, p.min_keep)

    return step


def _temperature(chain: Chain) -> Step | None:
    p = chain.params
    if p.dynatemp_range > 0 and not p.mirostat:
        return lambda c: dynamic(c, p.temperature, p.dynatemp_range, p.dynatemp_exponent)
    return (lambda c: temperature(c, p.temperature)) if p.temperature != 1 else None


def _infill(chain: Chain) -> Step | None:
    return lambda c: infill(c, chain.vocab)


def _nothing(_: Chain) -> Step | None:
    """For adaptive_p, which is no filter: it replaces the draw."""
    return None


MAKERS: dict[str, Maker] = {
    "penalties": _penalties,
    "dry": _dry_step,
    "top_n_sigma": _top_n_sigma,
    "top_k": _top_k,
    "typ_p": _typical,
    "top_p": _top_p,
    "min_p": _min_p,
    "xtc": _xtc,
    "temperature": _temperature,
    "infill": _infill,
    "adaptive_p": _nothing,
}
