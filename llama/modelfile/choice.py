"""Which file of a repository is meant: by its quantisation tag, and all shards of it."""

import re
from collections.abc import Iterable, Sequence

from llama.modelfile.shards import MAX_SHARDS, NAME

PREFERRED = ("Q4_K_M", "Q8_0")
NO_MODEL = re.compile(r"(^|[/_.-])(mmproj|imatrix)", re.IGNORECASE)  # companions of a model


def models(files: Iterable[str]) -> list[str]:
    """The files that are a model, or the first shard of one, in order of name."""
    found = [file for file in files if file.lower().endswith(".gguf") and not NO_MODEL.search(file)]
    return sorted(file for file in found if not (shard := NAME.fullmatch(file)) or int(shard["number"]) == 1)


def choose(files: Iterable[str], quant: str | None) -> str | None:
    """The model file with the tag `quant` in its name; without a tag the best known one, else the first."""
    candidates = models(files)
    for tag in [quant] if quant else PREFERRED:
        for file in candidates:
            if has_tag(file, tag):
                return file
    return None if quant else next(iter(candidates), None)


def has_tag(file: str, tag: str) -> bool:
    """True if `tag` stands in the name as a word of its own: "Q4_K" is not in "model-Q4_K_M.gguf"."""
    return re.search(rf"(?<![A-Za-z0-9]){re.escape(tag)}(?![A-Za-z0-9_])", file, re.IGNORECASE) is not None


def with_shards(file: str) -> Sequence[str]:
    """The file, or if it is a shard all of them in order."""
    shard = NAME.fullmatch(file)
    if not shard or not 1 <= int(shard["count"]) <= MAX_SHARDS:
        return [file]
    n = int(shard["count"])
    return [f"{shard['prefix']}-{i + 1:05d}-of-{n:05d}.gguf" for i in range(n)]
