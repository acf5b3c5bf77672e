"""Settings that say which model is served, and how its file is read."""

from dataclasses import dataclass

from llama.settings.option import comma_list, integer, number, one_of, option, scaled_files, single, switch, text


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """Which model, from where, and under which name."""

    model: str | None = option(
        "-m", "--model", read=text, env="LLAMA_ARG_MODEL", help="GGUF file to serve; of a split model, any part"
    )
    hf_repo: str | None = option(
        "-hf",
        "-hfr",
        "--hf-repo",
        read=text,
        env="LLAMA_ARG_HF_REPO",
        help="fetch from the model hub: USER/REPO[:QUANT]",
    )
    hf_file: str | None = option(
        "-hff", "--hf-file", read=text, env="LLAMA_ARG_HF_FILE", help="the one file of the repository to fetch"
    )
    hf_token: str | None = option(
        "-hft", "--hf-token", read=text, env="HF_TOKEN", help="access token for the model hub"
    )
    offline: bool = switch("--offline", env="LLAMA_ARG_OFFLINE", help="fetch nothing; use what is in the cache folder")
    cache_dir: str | None = option(
        "--cache-dir",
        read=text,
        env="LLAMA_CACHE",
        help="folder for fetched models and compiled kernels",
        shown="the platform's",
    )
    alias: tuple[str, ...] = option(
        "-a",
        "--alias",
        read=comma_list,
        default=(),
        env="LLAMA_ARG_ALIAS",
        help="names of the model, separated by commas; the alphabetically first one is its id",
    )
    tags: tuple[str, ...] = option(
        "--tags", read=comma_list, default=(), env="LLAMA_ARG_TAGS", help="words shown in /v1/models"
    )
    override_kv: tuple[str, ...] = option(
        "--override-kv",
        read=single,
        default=(),
        append=True,
        help="replace metadata of the file: KEY=TYPE:VALUE, TYPE one of int, float, bool, str",
    )
    lora: tuple[tuple[str, float], ...] = option(
        "--lora",
        "--lora-scaled",
        read=scaled_files,
        default=(),
        append=True,
        env="LLAMA_ARG_LORA",
        help="LoRA adapters to load: FILE or FILE:SCALE, separated by commas; they are numbered in this order",
    )
    lora_init_without_apply: bool = switch(
        "--lora-init-without-apply",
        env="LLAMA_ARG_LORA_INIT_WITHOUT_APPLY",
        help="load the adapters with scale 0, for requests or POST /lora-adapters to change",
    )
    pooling: str | None = option(
        "--pooling",
        read=one_of("none", "mean", "cls", "last", "rank"),
        env="LLAMA_ARG_POOLING",
        help="how embeddings of tokens become one: none, mean, cls, last, rank",
        shown="model",
    )
    rope_scaling: str | None = option(
        "--rope-scaling",
        read=one_of("none", "linear", "yarn"),
        env="LLAMA_ARG_ROPE_SCALING_TYPE",
        help="none, linear or yarn",
        shown="model",
    )
    rope_scale: float | None = option(
        "--rope-scale", read=number, env="LLAMA_ARG_ROPE_SCALE", help="context scaling factor", shown="model"
    )
    rope_freq_base: float | None = option(
        "--rope-freq-base", read=number, env="LLAMA_ARG_ROPE_FREQ_BASE", help="base of the rotation", shown="model"
    )
    rope_freq_scale: float | None = option(
        "--rope-freq-scale",
        read=number,
        env="LLAMA_ARG_ROPE_FREQ_SCALE",
        help="frequency factor, 1 / N for a context N times longer",
        shown="model",
    )
    yarn_orig_ctx: int | None = option(
        "--yarn-orig-ctx", read=integer, env="LLAMA_ARG_YARN_ORIG_CTX", help="context it was trained on", shown="model"
    )
    yarn_ext_factor: float | None = option(
        "--yarn-ext-factor", read=number, env="LLAMA_ARG_YARN_EXT_FACTOR", help="extrapolation mix", shown="model"
    )
    yarn_attn_factor: float | None = option(
        "--yarn-attn-factor", read=number, env="LLAMA_ARG_YARN_ATTN_FACTOR", help="attention scale", shown="model"
    )
    yarn_beta_slow: float | None = option(
        "--yarn-beta-slow", read=number, env="LLAMA_ARG_YARN_BETA_SLOW", help="high correction dim", shown="model"
    )
    yarn_beta_fast: float | None = option(
        "--yarn-beta-fast", read=number, env="LLAMA_ARG_YARN_BETA_FAST", help="low correction dim", shown="model"
    )
