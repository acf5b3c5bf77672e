"""Turns calls into what the engine is asked: token ids, limits, constraints."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from llama.api.call import Call
from llama.api.constraint import rule_constraint
from llama.api.logit_bias import token_biases
from llama.api.parts import Parts
from llama.api.prompt import checked_id
from llama.engine.request import ReasoningBudget, Request
from llama.errors import ContextOverflow
from llama.grammar import Constraint
from llama.sampling.params import SamplingParams
from llama.tokenizer import Vocab


def engine_request(
    parts: Parts,
    call: Call,
    prompt: Sequence[int],
    *,
    id: str,
    n: int | None = None,
    n_probs: int | None = None,
    prompt_logprobs: int | None = None,
    constraint: Callable[[], Constraint] | None = None,
    preserved: frozenset[int] = frozenset(),
    budget: ReasoningBudget | None = None,
) -> Request:
    """The engine's request for one prompt. Raises InvalidRequest for a rule that cannot be used."""
    if constraint is None and call.rule is not None:
        constraint = rule_constraint(call.rule, parts.trie, call.triggers if call.lazy else ())
    return Request(
        prompt=tuple(prompt),
        sampling=sampling(parts, call, n_probs),
        n=call.n if n is None else n,
        n_predict=call.n_predict,
        stop=call.stop,
        stop_token_ids=frozenset(call.stop_token_ids),
        include_stop=call.include_stop,
        constraint=constraint,
        special=call.special,
        preserved=preserved | preserved_ids(parts, call),
        prompt_logprobs=prompt_logprobs,
        cache_prompt=call.cache_prompt,
        lora=parts.adapters.scales(call.lora),
        id_slot=call.id_slot,
        n_keep=call.n_keep,
        n_discard=call.n_discard,
        n_indent=call.n_indent,
        t_max_predict_ms=call.t_max_predict_ms,
        progress=call.progress,
        reasoning_budget=budget,
        id=id,
    )


def sampling(parts: Parts, call: Call, n_probs: int | None = None) -> SamplingParams:
    """The call's sampling parameters, biases as token ids, with `n_probs` alternatives if given."""
    params, vocab = call.sampling, parts.vocab
    for token in params.allowed_token_ids or ():
        checked_id(token, vocab, "allowed_token_ids")
    if call.logit_bias is not None:
        params = replace(params, logit_bias=token_biases(call.logit_bias, vocab))
    if call.bad_words:
        params = replace(params, bad_words=word_tokens(call.bad_words, vocab))
    return params if n_probs is None else replace(params, n_probs=n_probs)


def word_tokens(words: Sequence[str], vocab: Vocab) -> tuple[tuple[int, ...], ...]:
    """The tokens that spell each of `words`: at the beginning of a text, behind a blank, and behind a line's end.

    vLLM takes the first two. Where a tokenizer puts a blank before every text, only the third is a word without one.
    """

    def ids(text: str) -> tuple[int, ...]:
        return tuple(vocab.encode(text, add_special=False, parse_special=False))

    line = ids("\n")
    found: dict[tuple[int, ...], None] = {}
    for word in words:
        bare = word.lstrip()
        behind = ids("\n" + bare)
        found |= dict.fromkeys((ids(bare), ids(" " + bare)))
        if behind[: len(line)] == line:
            found[behind[len(line) :]] = None
    return tuple(spelled for spelled in found if spelled)


def preserved_ids(parts: Parts, call: Call) -> frozenset[int]:
    """The control tokens that the call wants to see; texts that are no single token are left out."""
    found = (token if isinstance(token, int) else parts.vocab.token_id(token) for token in call.preserved)
    return frozenset(token for token in found if token is not None)


def check_length(prompts: Sequence[Sequence[int]], n_ctx: int) -> None:
    """Raise ContextOverflow if one of `prompts` leaves no room in the context: before anything is sent."""
    for prompt in prompts:
        if len(prompt) >= n_ctx:
            raise ContextOverflow(len(prompt), n_ctx)
