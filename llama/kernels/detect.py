"""Which instruction sets this processor has, and which of our kernel sets fit it."""

from functools import cache

from llama.errors import NotSupported

KERNELS = ("avx512-vnni", "avx2-vnni", "avx2", "neon-dotprod", "llvm")  # best first


@cache
def features() -> frozenset[str]:
    """LLVM's names of the features of the processor we run on; empty where LLVM cannot tell."""
    from llvmlite import binding

    try:
        found = binding.get_host_cpu_features()
    except RuntimeError:
        return frozenset()
    return frozenset(name for name, present in found.items() if present)


def runnable() -> tuple[str, ...]:
    """The kernel sets that this machine can run, best first."""
    has = features()
    needs = {
        "avx512-vnni": {"avx512vnni", "avx512bw", "avx512vl"},
        "avx2": {"avx2", "fma", "f16c"},
        "neon-dotprod": {"dotprod"},
        "llvm": set[str](),
    }
    fits = {name for name, wanted in needs.items() if wanted <= has}
    if {"avx2", "fma", "f16c"} <= has and ("avxvnni" in has or {"avx512vnni", "avx512vl"} <= has):
        fits.add("avx2-vnni")
    return tuple(name for name in KERNELS if name in fits)


def choose(wanted: str = "auto") -> str:
    """The kernel set to use. Raises NotSupported for one that this machine cannot run."""
    able = runnable()
    if wanted in ("auto", "compiled"):
        return able[0]
    if wanted not in able:
        raise NotSupported(f"kernels {wanted!r} cannot run on this processor; choose one of {', '.join(able)}, numpy")
    return wanted


def has_half() -> bool:
    """Whether 16-bit floats convert in hardware."""
    return bool({"f16c", "avx512f", "fullfp16", "neon"} & features())


def has_fma() -> bool:
    """Whether a multiply-add is one instruction."""
    return bool({"fma", "avx512f", "neon"} & features())
