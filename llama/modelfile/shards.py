"""Split models: finds all the files of `name-00001-of-0000N.gguf`, and checks that they belong together."""

import re
from collections.abc import Sequence
from pathlib import Path

from llama.errors import ModelFileError
from llama.modelfile.part import Part, open_part

NAME = re.compile(r"(?P<prefix>.*)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf", re.DOTALL)
MAX_SHARDS = 4096


def open_parts(path: Path) -> list[Part]:
    """The file at `path`, or, when it is any shard of a split model, all shards in order."""
    part = open_part(path)
    n = _number(part, "split.count", 1)
    if n <= 1:
        return [part]
    paths = shard_paths(path, n)
    parts = [part if other == path else open_part(other) for other in paths]
    for number, shard in enumerate(parts):
        _check_number(shard, number, n)
    _check_tensors(parts)
    return parts


def shard_paths(path: Path, n: int) -> list[Path]:
    """The paths of all `n` shards of which `path` is one; ModelFileError when the name is wrong or one is missing."""
    match = NAME.fullmatch(path.name)
    if n > MAX_SHARDS or not match or int(match["count"]) != n or not 1 <= int(match["number"]) <= n:
        raise ModelFileError(
            f"{path.name} is an invalid split file: it is one of {n} parts of a model, so its name must end in "
            f"-NNNNN-of-{n:05d}.gguf, beside the other parts"
        )
    paths = [path.with_name(f"{match['prefix']}-{i + 1:05d}-of-{n:05d}.gguf") for i in range(n)]
    missing = [other.name for other in paths if not other.is_file()]
    if missing:
        raise ModelFileError(
            f"{path.name} is one of {n} parts of a model; missing beside it: {', '.join(missing[:5])}"
            + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        )
    return paths


def _number(part: Part, key: str, default: int) -> int:
    value = part.metadata.get(key, default)
    if type(value) is not int or value < 0:
        raise ModelFileError(f"{part.path.name}: {key!r} must be a count, got {value!r:.80}")
    return value


def _check_number(shard: Part, number: int, n: int) -> None:
    count, own = _number(shard, "split.count", 0), _number(shard, "split.no", 0)
    if (count, own) != (n, number):
        raise ModelFileError(
            f"{shard.path.name} is an invalid split file: its name says part {number + 1} of {n}, "
            f"its metadata part {own + 1} of {count}"
        )


def _check_tensors(parts: Sequence[Part]) -> None:
    found = sum(len(part.tensors) for part in parts)
    wanted = _number(parts[0], "split.tensors.count", found)
    if found != wanted:
        raise ModelFileError(
            f"{parts[0].path.name}: 'split.tensors.count' says {wanted} tensors, "
            f"but the {len(parts)} parts hold {found}"
        )
