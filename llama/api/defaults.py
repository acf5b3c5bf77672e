"""What requests that do not say get: the command line counts before the model file, the file before our own values."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from llama.api.call import Rule
from llama.api.parse import Defaults
from llama.api.sampling_fields import RANDOM_SEED, SAMPLING_FIELDS
from llama.errors import InvalidRequest, SettingsError
from llama.sampling import sampler_names
from llama.sampling.params import SamplingParams
from llama.settings import Settings, read_text

OPENAI_REPEAT_PENALTY = 1.1  # what the documentation of the two OpenAI endpoints says
FROM_FILE = {
    # GGUF keys that change defaults: the parameter
    "general.sampling.top_k": "top_k",
    "general.sampling.top_p": "top_p",
    "general.sampling.min_p": "min_p",
    "general.sampling.xtc_probability": "xtc_probability",
    "general.sampling.xtc_threshold": "xtc_threshold",
    "general.sampling.temp": "temperature",
    "general.sampling.penalty_last_n": "repeat_last_n",
    "general.sampling.penalty_repeat": "repeat_penalty",
    "general.sampling.mirostat": "mirostat",
    "general.sampling.mirostat_tau": "mirostat_tau",
    "general.sampling.mirostat_eta": "mirostat_eta",
}
OTHER_NAMES = {"temperature": "temp"}  # parameters whose setting is called otherwise


def native_defaults(settings: Settings, metadata: Mapping[str, object]) -> Defaults:
    """The defaults of the native endpoints. Raises SettingsError for a flag that no request could send either."""
    values: dict[str, Any] = {
        ours: metadata[key] for key, ours in FROM_FILE.items() if isinstance(metadata.get(key), int | float)
    }
    sequence = metadata.get("general.sampling.sequence")
    values = _checked(values) | ({"samplers": _order(sequence)} if isinstance(sequence, str) and sequence else {})
    return Defaults(
        sampling=replace(SamplingParams(), **(values | _given(settings))),
        logit_bias=_biases(settings.logit_bias) or None,
        n_predict=settings.n_predict,
        stop=settings.reverse_prompt,
        cache_prompt=settings.cache_prompt,
        n_keep=settings.keep,
        ping_interval=settings.sse_ping_interval,
        special=settings.special,
        max_choices=settings.max_choices,
        rule=_rule(settings),
    )


def openai_defaults(settings: Settings, metadata: Mapping[str, object]) -> Defaults:
    """The defaults of the OpenAI endpoints: the same, but for the repeat penalty that their documentation names."""
    defaults = native_defaults(settings, metadata)
    if settings.repeat_penalty is not None or "general.sampling.penalty_repeat" in metadata:
        return defaults
    return replace(defaults, sampling=replace(defaults.sampling, repeat_penalty=OPENAI_REPEAT_PENALTY))


def _given(settings: Settings) -> dict[str, Any]:
    """The sampling parameters that the command line gives."""
    values: dict[str, Any] = {}
    for row in SAMPLING_FIELDS:
        value = getattr(settings, OTHER_NAMES.get(row.name, row.name), None)
        if value is not None and row.name != "samplers":
            values[row.name] = value
    breakers = values.pop("dry_sequence_breakers", None)
    values = _checked(values)
    if breakers is not None:
        values["dry_sequence_breakers"] = () if breakers == ("none",) else breakers
    if values.get("seed") == RANDOM_SEED:
        values["seed"] = None
    if settings.samplers is not None:
        values["samplers"] = _order(settings.samplers)
    elif settings.sampling_seq is not None:
        values["samplers"] = _order(settings.sampling_seq)
    return values


def _checked(values: Mapping[str, Any]) -> dict[str, Any]:
    rows = {row.name: row for row in SAMPLING_FIELDS}
    try:
        return {name: rows[name].kind.read(name, value) for name, value in values.items()}
    except InvalidRequest as error:
        raise SettingsError(str(error)) from None


def _order(value: str) -> tuple[str, ...]:
    try:
        return sampler_names(value, "--samplers")
    except InvalidRequest as error:
        raise SettingsError(str(error)) from None


def _biases(texts: tuple[str, ...]) -> list[list[float]]:
    pairs = []
    for text in texts:
        at = max(text.find("+"), text.find("-"))
        try:
            pairs.append([int(text[:at]), float(text[at:])])
        except ValueError:
            raise SettingsError(f"--logit-bias must be TOKEN_ID+BIAS or TOKEN_ID-BIAS, got {text!r}") from None
    return pairs


def _rule(settings: Settings) -> Rule | None:
    grammar, schema = settings.grammar, settings.json_schema
    if grammar is None and settings.grammar_file is not None:
        grammar = read_text(settings.grammar_file, "--grammar-file")
    if schema is None and settings.json_schema_file is not None:
        schema = read_text(settings.json_schema_file, "--json-schema-file")
    if grammar:
        return Rule("grammar", grammar, "grammar")
    if schema is None:
        return None
    try:
        return Rule("schema", json.loads(schema), "json_schema")
    except ValueError as error:
        raise SettingsError(f"--json-schema is not JSON: {error}") from None
