"""Settings of the machinery: context, batches, slots, threads, cache."""

from dataclasses import dataclass

from llama.settings.option import integer, one_of, option, switch, text

CACHE_TYPES = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")


@dataclass(frozen=True, kw_only=True)
class ComputeSettings:
    """How much is computed at once, with what, and what is remembered."""

    ctx_size: int = option(
        "-c", "--ctx-size", read=integer, default=0, env="LLAMA_ARG_CTX_SIZE", help="context size; 0 = from the model"
    )
    n_predict: int = option(
        "-n",
        "--predict",
        "--n-predict",
        read=integer,
        default=-1,
        env="LLAMA_ARG_N_PREDICT",
        help="tokens to generate when the request does not say; -1 = no limit",
    )
    batch_size: int = option(
        "-b",
        "--batch-size",
        read=integer,
        default=2048,
        env="LLAMA_ARG_BATCH",
        help="logical batch: budgets of /infill, longest input of an embedding",
    )
    ubatch_size: int = option(
        "-ub", "--ubatch-size", read=integer, default=512, env="LLAMA_ARG_UBATCH", help="tokens computed in one step"
    )
    parallel: int = option(
        "-np",
        "--parallel",
        read=integer,
        default=-1,
        env="LLAMA_ARG_N_PARALLEL",
        help="requests served at the same time; -1 = 4",
    )
    queue_limit: int = option(
        "--queue-limit",
        read=integer,
        default=-1,
        env="LLAMA_ARG_QUEUE_LIMIT",
        help="requests that may wait for a slot before 503; -1 = as many as HTTP threads allow",
    )
    threads: int = option(
        "-t", "--threads", read=integer, default=-1, env="LLAMA_ARG_THREADS", help="compute threads; -1 = all cores"
    )
    kernels: str = option(
        "--kernels",
        read=one_of("auto", "numpy", "compiled", "avx512-vnni", "avx2-vnni", "avx2", "neon-dotprod", "llvm"),
        default="auto",
        env="LLAMA_ARG_KERNELS",
        help="who computes: numpy, compiled (numba), one set of compiled kernels by name, or auto = the best that runs",
    )
    cache_type_k: str = option(
        "-ctk",
        "--cache-type-k",
        read=one_of(*CACHE_TYPES),
        default="f16",
        env="LLAMA_ARG_CACHE_TYPE_K",
        help="number format of cached keys",
    )
    cache_type_v: str = option(
        "-ctv",
        "--cache-type-v",
        read=one_of(*CACHE_TYPES),
        default="f16",
        env="LLAMA_ARG_CACHE_TYPE_V",
        help="number format of cached values",
    )
    cache_prompt: bool = switch(
        "--cache-prompt", default=True, env="LLAMA_ARG_CACHE_PROMPT", help="reuse what earlier requests computed"
    )
    context_shift: bool = switch(
        "--context-shift", env="LLAMA_ARG_CONTEXT_SHIFT", help="go on past a full context by dropping its middle"
    )
    keep: int = option(
        "--keep", read=integer, default=0, help="tokens of the prompt kept on a context shift; -1 = all of it"
    )
    warmup: bool = switch("--warmup", default=True, help="run once before saying ready")
    embeddings: bool = switch(
        "--embeddings", "--embedding", env="LLAMA_ARG_EMBEDDINGS", help="serve /v1/embeddings from a text model"
    )
    rerank: bool = switch(
        "--rerank", "--reranking", env="LLAMA_ARG_RERANKING", help="serve /rerank; the model needs a rank head"
    )
    embd_normalize: int = option(
        "--embd-normalize",
        read=integer,
        default=2,
        help="norm of embeddings: -1 none, 0 largest = 32760, 1 sum, 2 Euclid, N the p-norm",
    )
    kv_unified: bool | None = switch(
        "-kvu",
        "--kv-unified",
        off=("-no-kvu",),
        default=None,
        env="LLAMA_ARG_KV_UNIFIED",
        help="any request may use the whole context while there is room; off, each slot has its equal share. "
        "auto = off where -np is given",
    )
    slot_save_path: str | None = option(
        "--slot-save-path", read=text, help="folder where /slots saves and restores; without it that is off"
    )
    special: bool = switch("-sp", "--special", help="show control tokens in the output")
    spm_infill: bool = switch("--spm-infill", help="/infill in suffix-prefix-middle order")
