"""One `.gguf` file on disk: mapped, its header read and checked. A model is one part, or several shards."""

import mmap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from llama.errors import ModelFileError
from llama.modelfile.cursor import Cursor
from llama.modelfile.metadata import SMALLEST_ENTRY, read_metadata
from llama.modelfile.tensor import SMALLEST_INFO, FileTensor, check_places, read_infos

MAGIC = b"GGUF"
VERSIONS = (2, 3)
DEFAULT_ALIGNMENT = 32
MAX_ALIGNMENT = 1 << 20
MAX_ENTRIES = 1 << 17  # tensors, and metadata entries; the largest models have some thousands

# First bytes of what people pass by mistake -> what it is.
OTHER_FILES = {
    b"lmgg": "an old GGML file; convert it to GGUF again",
    b"fmgg": "an old GGML file; convert it to GGUF again",
    b"tjgg": "an old GGJT file; convert it to GGUF again",
    b"PK\x03\x04": "a zip archive or PyTorch checkpoint; convert it to GGUF",
    b"vers": "a Git LFS pointer, not the model itself; fetch it with `git lfs pull`",
    b"<!DO": "a web page; download the file itself",
    b"<htm": "a web page; download the file itself",
    b"\x1f\x8b\x08\x00": "a gzip archive; unpack it first",
}


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One opened file. The tensors are views of the map, which lives as long as any of them."""

    path: Path
    metadata: Mapping[str, object]
    tensors: Mapping[str, FileTensor]


def open_part(path: Path) -> Part:
    """The checked contents of `path`; ModelFileError when it is missing, broken, or no GGUF file of version 2 or 3."""
    mapped = _map(path)
    cursor = Cursor(mapped, path.name)
    _check_kind(cursor)
    n_tensors = cursor.count("the number of tensors", SMALLEST_INFO)
    n_entries = cursor.count("the number of metadata entries", SMALLEST_ENTRY)
    if max(n_tensors, n_entries) > MAX_ENTRIES:
        raise cursor.fail(f"{n_tensors} tensors and {n_entries} metadata entries are more than a model can have")
    metadata = read_metadata(cursor, n_entries)
    infos = read_infos(cursor, n_tensors)
    alignment = _alignment(cursor, metadata)
    start = -(-cursor.position // alignment) * alignment
    check_places(cursor, infos, start, alignment)
    buffer: NDArray[np.uint8] = np.frombuffer(mapped, np.uint8)
    return Part(path, metadata, {info.name: info.view(buffer, start) for info in infos})


def _map(path: Path) -> mmap.mmap:
    try:
        if path.is_dir():
            raise ModelFileError(f"{path} is a folder; pass the .gguf file in it")
        if path.exists() and not path.is_file():
            raise ModelFileError(f"{path} is not a regular file")
        with path.open("rb") as file:
            if file.seek(0, 2) == 0:
                raise ModelFileError(f"{path} is empty")
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise ModelFileError(f"{path} does not exist") from None
    except (OSError, ValueError) as error:  # ValueError: a path with a zero byte, or a file that cannot be mapped
        raise ModelFileError(f"{path} cannot be read: {error}") from None


def _check_kind(cursor: Cursor) -> None:
    magic = cursor.take(4, "the GGUF magic number")
    if magic != MAGIC:
        guess = OTHER_FILES.get(magic)
        raise cursor.fail("not a GGUF file" + (f" but {guess}" if guess else f": it begins with {magic!r}"))
    version = cursor.u32("the GGUF version")
    if version & 0xFFFF == 0 and version:
        raise cursor.fail("a big-endian GGUF file; only little-endian ones can be read, convert the model again")
    if version == 1:
        raise cursor.fail("a GGUF file of version 1, which is no longer in use; convert the model again")
    if version not in VERSIONS:
        raise cursor.fail(f"GGUF version {version} is unknown; versions {VERSIONS[0]} and {VERSIONS[1]} can be read")


def _alignment(cursor: Cursor, metadata: Mapping[str, object]) -> int:
    value = metadata.get("general.alignment", DEFAULT_ALIGNMENT)
    if type(value) is not int or not 1 <= value <= MAX_ALIGNMENT or value & (value - 1):
        raise cursor.fail(f"'general.alignment' must be a power of two up to {MAX_ALIGNMENT}, got {value!r:.80}")
    return value
