"""Opens thousands of damaged GGUF files under a limit of memory; run as a child process by test_hostile.

Arguments: a folder to write in, how many files, a seed. Prints one JSON object: what came of them.
"""

import json
import random
import struct
import sys
import time
from collections import Counter
from pathlib import Path

from llama.errors import ModelFileError
from llama.modelfile import ModelFile
from tests.modelfile.gguf_bytes import FakeFile, everything

HOSTILE = (0, 1, 255, 1 << 16, 1 << 24, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 40, 1 << 62, 1 << 63, (1 << 64) - 1)
SPARE_MEMORY = 64 << 20


def damaged(rng: random.Random, good: bytes) -> bytes:
    """A copy cut off, with bits flipped, with a hostile number somewhere, or with bytes put in or taken out."""
    data = bytearray(good)
    way = rng.randrange(5)
    if way == 0:
        del data[rng.randrange(len(data)) :]
    elif way == 1:
        for _ in range(rng.choice((1, 1, 2, 8, 64))):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif way == 2:
        at = rng.randrange(4, len(data) - 8)
        data[at : at + 8] = struct.pack("<Q", rng.choice(HOSTILE))
    elif way == 3:
        at = rng.randrange(4, len(data) - 4)
        data[at : at + 4] = struct.pack("<I", rng.choice(HOSTILE) & 0xFFFFFFFF)
    else:
        at = rng.randrange(len(data))
        data[at : at + rng.randrange(9)] = rng.randbytes(rng.randrange(9))
    return bytes(data)


def outcome(path: Path) -> str:
    """Opens the file and reads every byte of every tensor."""
    try:
        with ModelFile.open(path) as file:
            for tensor in file.tensors.values():
                int(tensor.data.sum())
    except ModelFileError as error:
        return "refused" if 0 < len(str(error)) < 100_000 else "refused without a fit reason"
    return "opened"


def limit_memory() -> None:
    """The process may grow by SPARE_MEMORY from here on, where the platform can say so."""
    if sys.platform == "linux":
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + SPARE_MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def main(folder: Path, n: int, seed: int) -> None:
    rng = random.Random(seed)
    originals = [everything().bytes(), FakeFile().bytes(), everything().but(version=2).bytes()]
    outcomes: Counter[str] = Counter()
    slowest = 0.0
    path = folder / "m.gguf"
    limit_memory()
    for _ in range(n):
        path.unlink(missing_ok=True)
        path.write_bytes(damaged(rng, rng.choice(originals)))
        began = time.perf_counter()
        outcomes[outcome(path)] += 1
        slowest = max(slowest, time.perf_counter() - began)
    sys.stdout.write(json.dumps({**outcomes, "slowest": slowest}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
