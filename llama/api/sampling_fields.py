"""The fields of a request that say how tokens are picked, and the value they become."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from llama.api.field import Field, Kind, array, boolean, either, integer, list_of, mapping, number, out_of_range, text
from llama.api.json_text import shown
from llama.errors import InvalidRequest
from llama.sampling import sampler_names
from llama.sampling.params import SamplingParams

RANDOM_SEED = 0xFFFFFFFF


def _samplers() -> Kind:
    schema = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
    kind = either((str, text()), (list, list_of(text())), wanted="an array of names or a string of letters")
    return Kind(lambda name, value: sampler_names(kind.read(name, value), name), schema)


def _seed() -> Kind:
    whole = integer(-(2**63), 2**64 - 1)

    def read(name: str, value: object) -> int:
        return int(whole.read(name, value)) & RANDOM_SEED

    return Kind(read, {"type": "integer"})


def _positive() -> Kind:
    anything = number()

    def read(name: str, value: object) -> float:
        found = float(anything.read(name, value))
        if not 0 < found <= 3.4e38:
            raise InvalidRequest(f"Field '{name}': must be finite and greater than 0, but is {shown(value)}", name)
        return found

    return Kind(read, {"type": "number", "exclusiveMinimum": 0})


def _some(member: Kind) -> Kind:
    """An array of at least one `member`."""
    items = list_of(member)

    def read(name: str, value: object) -> tuple[Any, ...]:
        found: tuple[Any, ...] = items.read(name, value)
        if not found:
            raise InvalidRequest(f"Field '{name}': must be a non-empty array of {member.schema['type']}s", name)
        return found

    return Kind(read, {**items.schema, "minItems": 1})


def _word() -> Kind:
    any_text = text()

    def read(name: str, value: object) -> str:
        found = str(any_text.read(name, value))
        if not found.strip():
            raise InvalidRequest(f"Field '{name}': a word must not be empty", name)
        return found

    return Kind(read, {"type": "string", "pattern": "\\S"})


def _count_or_switch() -> Kind:
    whole = integer(0)

    def read(name: str, value: object) -> int:
        return int(value) if isinstance(value, bool) else int(whole.read(name, value))

    return Kind(read, {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "boolean"}]})


def legacy_logprobs() -> Kind:
    """The text endpoint's `logprobs`: 0 to 5, `true` for 1, `false` for none (as -1)."""
    whole = integer(0, 5)

    def read(name: str, value: object) -> int:
        if isinstance(value, bool):
            return 1 if value else -1
        return int(whole.read(name, value))

    return Kind(read, {"anyOf": [{"type": "integer", "minimum": 0, "maximum": 5}, {"type": "boolean"}]})


def chat_logprobs() -> Kind:
    """The chat endpoint's `logprobs`: a switch, or a number that says how many."""
    whole = integer(0, 20)

    def read(name: str, value: object) -> bool | int:
        return value if isinstance(value, bool) else int(whole.read(name, value))

    return Kind(read, {"anyOf": [{"type": "boolean"}, {"type": "integer", "minimum": 0, "maximum": 20}]})


def _decay() -> Kind:
    anything = number()

    def read(name: str, value: object) -> float:
        found = float(anything.read(name, value))
        if not 0 <= found <= 0.99:
            raise out_of_range(name, 0, 0.99, value)
        return found

    return Kind(read, {"type": "number", "minimum": 0, "maximum": 0.99})


SAMPLING_FIELDS = (
    Field("temperature", number(0), "Randomness; 0 picks the most probable token."),
    Field("dynatemp_range", number(), "The temperature moves this far up and down with the entropy; 0 = off."),
    Field("dynatemp_exponent", number(), "Exponent of the dynamic temperature."),
    Field("top_k", integer(0, clamp=True), "Only the K most probable tokens; 0 = off."),
    Field("top_p", number(0, 1), "Only the most probable tokens that together have this probability; 1 = off."),
    Field("min_p", number(0, 1), "Only tokens with at least this share of the best one's probability; 0 = off."),
    Field("top_n_sigma", number(), "Only logits within N standard deviations of the best; at most 0 = off."),
    Field("typical_p", number(0, 1), "Locally typical sampling; 1 = off."),
    Field("xtc_probability", number(0, 1), "Chance that all but the least of the probable tokens go; 0 = off."),
    Field("xtc_threshold", number(0, 1), "What counts as probable for XTC; above 0.5 = off."),
    Field("repeat_last_n", integer(0), "How many last tokens the penalties look at; 0 = off."),
    Field("repeat_penalty", _positive(), "Divides the logits of repeated tokens; 1 = off.", ("repetition_penalty",)),
    Field("presence_penalty", number(), "Taken from the logits of tokens that occurred."),
    Field("frequency_penalty", number(), "Taken from the logits for each occurrence."),
    Field("dry_multiplier", number(), "Strength of the penalty on repeated sequences; 0 = off."),
    Field("dry_base", number(), "Growth of that penalty with the length; below 1 = the default."),
    Field("dry_allowed_length", integer(0), "Repeats up to this length are free."),
    Field("dry_penalty_last_n", integer(0), "How many last tokens DRY looks at; 0 = off."),
    Field("dry_sequence_breakers", _some(text()), "Texts over which DRY sees no repeat."),
    Field("mirostat", integer(0, 2, clamp=True), "0 off, 1 Mirostat, 2 Mirostat 2.0.", ("mirostat_mode",)),
    Field("mirostat_tau", number(), "Target entropy of Mirostat."),
    Field("mirostat_eta", number(), "Learning rate of Mirostat."),
    Field("adaptive_target", number(None, 1), "Target probability of adaptive_p; negative = off."),
    Field("adaptive_decay", _decay(), "How slowly adaptive_p forgets."),
    Field("samplers", _samplers(), "Which samplers, in which order."),
    Field("min_keep", integer(0), "Samplers that cut leave at least so many tokens."),
    Field("ignore_eos", boolean(), "Never end by the model's own end token."),
    Field("min_tokens", integer(0), "No end token before so many tokens."),
    Field("seed", _seed(), "Seed of the random numbers; -1 = a random one."),
    Field("post_sampling_probs", boolean(), "Report probabilities after the samplers, not of the raw logits."),
)
TOKEN_FIELDS = (
    Field("allowed_token_ids", _some(integer(0)), "Only these tokens may be generated; the end token if it is listed."),
    Field("bad_words", list_of(_word()), "Texts that are not generated: the token that would complete one is banned."),
)
LOGIT_BIAS = Field(
    "logit_bias",
    either((dict, mapping()), (list, array()), wanted="an object or an array of pairs"),
    "Added to logits: {id or text: bias}, or [[id or text, bias or false], ...].",
)
N_PROBS = Field(
    "n_probs", _count_or_switch(), "How many most probable tokens to report with each token.", ("logprobs",)
)


def sampling_params(values: Mapping[str, Any], defaults: SamplingParams) -> SamplingParams:
    """`defaults` with what `values`, as read from the tables, say. Biases and words are the vocabulary's matter."""
    names = SamplingParams.__dataclass_fields__.keys() & values.keys() - {"logit_bias", "bad_words"}
    changes = {name: values[name] for name in names}
    if changes.get("dry_base", 1.75) < 1:
        del changes["dry_base"]
    if changes.get("seed") == RANDOM_SEED:
        changes["seed"] = None
    return replace(defaults, **changes)
