"""Flags of llama-server that cannot apply here. They are read, so that an existing command line runs, and reported."""

from dataclasses import dataclass

from llama.settings.option import FALSE, TRUE

CPU = "the model runs on the CPU"
MEMORY = "model files are always memory-mapped"
PLACEMENT = "the system places the threads"
POOL = "the cache is one pool shared by all requests"
QUIET = "the log has one form"
SPECULATIVE = "there is no speculative decoding; the output is the same"
ROUTER = "one process serves one model"
PAGE = "our page has no such feature"


@dataclass(frozen=True, slots=True)
class Inapplicable:
    """Flags that have no effect, with the reason. `values` is how many arguments follow the flag."""

    flags: tuple[str, ...]
    reason: str
    values: int = 1
    env: str | None = None
    optional: frozenset[str] = frozenset()  # words that are taken as the value if they follow


def _row(flags: str, reason: str, values: int = 1, env: str | None = None) -> Inapplicable:
    return Inapplicable(tuple(flags.split()), reason, values, env)


IGNORED = (
    _row("-ngl --gpu-layers --n-gpu-layers", CPU, env="LLAMA_ARG_N_GPU_LAYERS"),
    _row("-sm --split-mode", CPU, env="LLAMA_ARG_SPLIT_MODE"),
    _row("-ts --tensor-split", CPU, env="LLAMA_ARG_TENSOR_SPLIT"),
    _row("-mg --main-gpu", CPU, env="LLAMA_ARG_MAIN_GPU"),
    _row("-dev --device", CPU, env="LLAMA_ARG_DEVICE"),
    _row("-ot --override-tensor", CPU, env="LLAMA_ARG_OVERRIDE_TENSOR"),
    _row("-cmoe --cpu-moe", CPU, 0, env="LLAMA_ARG_CPU_MOE"),
    _row("-ncmoe --n-cpu-moe", CPU, env="LLAMA_ARG_N_CPU_MOE"),
    _row("-nkvo --no-kv-offload -kvo --kv-offload", CPU, 0, env="LLAMA_ARG_KV_OFFLOAD"),
    _row("--no-op-offload --op-offload --no-host", CPU, 0),
    _row("-fit --fit", CPU, env="LLAMA_ARG_FIT"),
    _row("--rpc", CPU, env="LLAMA_ARG_RPC"),
    Inapplicable(
        ("-fa", "--flash-attn"),
        "attention has one form here",
        values=0,
        env="LLAMA_ARG_FLASH_ATTN",
        optional=TRUE | FALSE | {"auto"},
    ),
    _row("--numa", PLACEMENT, env="LLAMA_ARG_NUMA"),
    _row("-C --cpu-mask -Cr --cpu-range --cpu-strict --prio --poll", PLACEMENT),
    _row("-Cb --cpu-mask-batch -Crb --cpu-range-batch --cpu-strict-batch --prio-batch --poll-batch", PLACEMENT),
    _row("-tb --threads-batch", "prompts are read by the threads of -t"),
    _row("-lm --load-mode", MEMORY, env="LLAMA_ARG_LOAD_MODE"),
    _row("--mlock --mmap --no-mmap --direct-io --no-direct-io", MEMORY, 0),
    _row("--repack -nr --no-repack", "weights are always packed once, at load", 0, env="LLAMA_ARG_REPACK"),
    _row("--check-tensors", "every file is checked", 0),
    _row("-cb --cont-batching", "requests always run together", 0, env="LLAMA_ARG_CONT_BATCHING"),
    _row("-nocb --no-cont-batching", "requests always run together", 0),
    _row("--kv-unified-per-slot", POOL, env="LLAMA_ARG_KV_UNIFIED_PER_SLOT"),
    _row("-cram --cache-ram", POOL, env="LLAMA_ARG_CACHE_RAM"),
    _row("--cache-idle-slots --no-cache-idle-slots", POOL, 0, env="LLAMA_ARG_CACHE_IDLE_SLOTS"),
    _row("--cache-reuse", "reuse is exact, by prefix", env="LLAMA_ARG_CACHE_REUSE"),
    _row("-sps --slot-prompt-similarity", POOL),
    _row("-ctxcp --ctx-checkpoints --swa-checkpoints", POOL, env="LLAMA_ARG_CTX_CHECKPOINTS"),
    _row("-cms --checkpoint-min-step", POOL),
    _row("--swa-full", POOL, 0, env="LLAMA_ARG_SWA_FULL"),
    _row("-dt --defrag-thold", POOL, env="LLAMA_ARG_DEFRAG_THOLD"),
    _row("--backend-sampling -bs", "sampling has one place", 0),
    _row("-md --model-draft --spec-type --draft --draft-n --draft-max --draft-min --draft-n-min", SPECULATIVE),
    _row("--draft-p-min -ngld --n-gpu-layers-draft -cd --ctx-size-draft -devd --device-draft", SPECULATIVE),
    _row("--spec-draft-n-max --spec-draft-n-min --spec-draft-p-min -hfd --hf-repo-draft", SPECULATIVE),
    _row("-mm --mmproj", "images are not supported; text is", env="LLAMA_ARG_MMPROJ"),
    _row("-mmu --mmproj-url", "images are not supported; text is", env="LLAMA_ARG_MMPROJ_URL"),
    _row("--no-mmproj --mmproj-auto --no-mmproj-auto --no-mmproj-offload --mmproj-offload", "text only", 0),
    _row("--media-path", "images are not supported; text is"),
    _row("--models-dir --models-preset --models-max", ROUTER),
    _row("--models-autoload --no-models-autoload", ROUTER, 0),
    _row("--sleep-idle-seconds", "the model stays loaded"),
    _row("--ui-config --ui-config-file --webui-config --webui-config-file --tools", PAGE),
    _row("--ui-mcp-proxy --no-ui-mcp-proxy --webui-mcp-proxy", PAGE, 0),
    _row("--reasoning-preserve --no-reasoning-preserve", "thoughts of earlier turns are offered to the template", 0),
    _row("--log-colors", QUIET, env="LLAMA_ARG_LOG_COLORS"),
    _row("--log-prefix --no-log-prefix --log-timestamps --no-log-timestamps --perf --no-perf", QUIET, 0),
    _row("-e --escape --no-escape -co --color", "nothing is read from the terminal", 0),
    _row("-gan --grp-attn-n -gaw --grp-attn-w", "self-extend is gone from llama.cpp too"),
)

REFUSED = (
    _row("-mu --model-url", "download the file and give it with -m", env="LLAMA_ARG_MODEL_URL"),
    _row("-dr --docker-repo", "download the model and give it with -m", env="LLAMA_ARG_DOCKER_REPO"),
    _row("--control-vector --control-vector-scaled", "control vectors are not supported"),
    _row("--control-vector-layer-range", "control vectors are not supported", 2),
)
