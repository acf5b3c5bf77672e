"""`generation_settings` as llama-server shows them: what a request was understood to ask."""

import math
from collections.abc import Iterable
from typing import Any

from llama.api.call import Call
from llama.api.sampling_fields import RANDOM_SEED
from llama.engine.request import Request
from llama.sampling.params import SamplingParams

SAME_NAME = (
    "temperature",
    "dynatemp_range",
    "dynatemp_exponent",
    "top_k",
    "top_p",
    "min_p",
    "top_n_sigma",
    "xtc_probability",
    "xtc_threshold",
    "typical_p",
    "repeat_last_n",
    "repeat_penalty",
    "presence_penalty",
    "frequency_penalty",
    "dry_multiplier",
    "dry_base",
    "dry_allowed_length",
    "dry_penalty_last_n",
    "mirostat",
    "mirostat_tau",
    "mirostat_eta",
    "adaptive_target",
    "adaptive_decay",
    "ignore_eos",
    "n_probs",
    "min_keep",
    "post_sampling_probs",
    "min_tokens",
)


def sampling_body(params: SamplingParams) -> dict[str, Any]:
    """The sampling parameters by llama-server's names."""
    body: dict[str, Any] = {"seed": RANDOM_SEED if params.seed is None else params.seed}
    body |= {name: getattr(params, name) for name in SAME_NAME}
    body["dry_sequence_breakers"] = list(params.dry_sequence_breakers)
    body["samplers"] = list(params.samplers)
    body["logit_bias"] = [
        {"bias": bias if math.isfinite(bias) else None, "token": token} for token, bias in params.logit_bias
    ]
    return body


def request_body(request: Request, *, texts: bool = True) -> dict[str, Any]:
    """`params` of a request as /slots shows it; without `texts`, those of stop strings and the like are left out."""
    body = sampling_body(request.sampling) | {
        "max_tokens": request.n_predict,
        "n_predict": request.n_predict,
        "n_keep": request.n_keep,
        "n_discard": request.n_discard,
        "n_indent": request.n_indent,
        "t_max_predict_ms": request.t_max_predict_ms,
        "stop": list(request.stop),
        "backend_sampling": False,
        "lora": [{"id": id, "scale": scale} for id, scale in enumerate(request.lora)],
        "speculative.types": "none",
    }
    if not texts:
        del body["stop"], body["logit_bias"], body["dry_sequence_breakers"]
    return body


def generation_settings(request: Request, call: Call, eog: Iterable[int] = ()) -> dict[str, Any]:
    """`generation_settings` of a native answer; `eog` are the end tokens, which `ignore_eos` bans."""
    grammar = call.rule.value if call.rule is not None and call.rule.kind == "grammar" else ""
    body = request_body(request)
    if request.sampling.ignore_eos:
        body["logit_bias"] += [{"bias": None, "token": token} for token in sorted(eog)]
    return body | {
        "stream": call.stream,
        "grammar": grammar,
        "grammar_lazy": call.lazy,
        "grammar_triggers": [
            {"type": trigger.kind, "value": trigger.value, "token": trigger.token} for trigger in call.triggers
        ],
        "preserved_tokens": list(call.preserved),
        "chat_format": "Content-only",
        "reasoning_format": "none",
        "reasoning_in_content": False,
        "generation_prompt": "",
        "timings_per_token": call.timings_per_token,
    }
