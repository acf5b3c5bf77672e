"""Settings of sampling: defaults for requests that do not say. Not given, the model file's own count, then ours."""

from dataclasses import dataclass

from llama.settings.option import integer, number, option, single, switch, text


@dataclass(frozen=True, kw_only=True)
class SamplingSettings:
    """Default sampling parameters; None = not given."""

    seed: int | None = option("-s", "--seed", read=integer, help="seed; -1 = a random one a request", shown="-1")
    samplers: str | None = option(
        "--samplers",
        read=text,
        help="order of the samplers, separated by semicolons",
        shown="penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature",
    )
    sampling_seq: str | None = option(
        "--sampling-seq", "--sampler-seq", read=text, help="the same, one letter each", shown="edskypmxt"
    )
    ignore_eos: bool = switch("--ignore-eos", help="never end by the model's own end token")
    temp: float | None = option(
        "--temp", "--temperature", read=number, env="LLAMA_ARG_TEMPERATURE", help="temperature", shown="0.8"
    )
    top_k: int | None = option("--top-k", read=integer, env="LLAMA_ARG_TOP_K", help="0 = off", shown="40")
    top_p: float | None = option("--top-p", read=number, env="LLAMA_ARG_TOP_P", help="1 = off", shown="0.95")
    min_p: float | None = option("--min-p", read=number, env="LLAMA_ARG_MIN_P", help="0 = off", shown="0.05")
    top_n_sigma: float | None = option("--top-nsigma", "--top-n-sigma", read=number, help="-1 = off", shown="-1")
    xtc_probability: float | None = option("--xtc-probability", read=number, help="0 = off", shown="0")
    xtc_threshold: float | None = option("--xtc-threshold", read=number, help="above 0.5 = off", shown="0.1")
    typical_p: float | None = option("--typical", "--typical-p", read=number, help="1 = off", shown="1")
    repeat_last_n: int | None = option("--repeat-last-n", read=integer, help="0 = off", shown="64")
    repeat_penalty: float | None = option(
        "--repeat-penalty",
        read=number,
        env="LLAMA_ARG_REPEAT_PENALTY",
        help="1 = off",
        shown="1.1 on the OpenAI endpoints, 1.0 on the native ones",
    )
    presence_penalty: float | None = option(
        "--presence-penalty", read=number, env="LLAMA_ARG_PRESENCE_PENALTY", help="0 = off", shown="0"
    )
    frequency_penalty: float | None = option(
        "--frequency-penalty", read=number, env="LLAMA_ARG_FREQUENCY_PENALTY", help="0 = off", shown="0"
    )
    dry_multiplier: float | None = option("--dry-multiplier", read=number, help="0 = off", shown="0")
    dry_base: float | None = option("--dry-base", read=number, help="base of DRY", shown="1.75")
    dry_allowed_length: int | None = option("--dry-allowed-length", read=integer, help="free repeats", shown="2")
    dry_penalty_last_n: int | None = option("--dry-penalty-last-n", read=integer, help="0 = off", shown="64")
    dry_sequence_breakers: tuple[str, ...] | None = option(
        "--dry-sequence-breaker",
        read=single,
        append=True,
        help="text over which no repeat is seen; given, it replaces the defaults; none = no breakers",
        shown='"\\n", ":", "\\"", "*"',
    )
    dynatemp_range: float | None = option("--dynatemp-range", read=number, help="0 = off", shown="0")
    dynatemp_exponent: float | None = option("--dynatemp-exp", read=number, help="exponent", shown="1")
    mirostat: int | None = option("--mirostat", read=integer, help="0 off, 1, 2", shown="0")
    mirostat_eta: float | None = option("--mirostat-lr", read=number, help="learning rate", shown="0.1")
    mirostat_tau: float | None = option("--mirostat-ent", read=number, help="target entropy", shown="5")
    adaptive_target: float | None = option("--adaptive-target", read=number, help="negative = off", shown="-1")
    adaptive_decay: float | None = option("--adaptive-decay", read=number, help="0 to 0.99", shown="0.9")
    logit_bias: tuple[str, ...] = option(
        "-l", "--logit-bias", read=single, default=(), append=True, help="TOKEN_ID+BIAS or TOKEN_ID-BIAS"
    )
    grammar: str | None = option("--grammar", read=text, help="grammar that binds every output")
    grammar_file: str | None = option("--grammar-file", read=text, help="file with that grammar")
    json_schema: str | None = option("-j", "--json-schema", read=text, help="JSON Schema that binds every output")
    json_schema_file: str | None = option("-jf", "--json-schema-file", read=text, help="file with that schema")
