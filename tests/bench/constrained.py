"""Generate under forty schemas and judge every text with the jsonschema package; print the counts.

    python tests/bench/constrained.py                        the default model over HTTP, and random weights
    python tests/bench/constrained.py --generations 1000     more of them
    python tests/bench/constrained.py --vocab some.gguf      random weights over other vocabularies

The default model writes half of them; models with random weights, one for each vocabulary, write the other half. Random
weights spread over `--vocab` files, or over the vocabularies beside the checkout. Exits with 1 if any text is invalid.
"""

import argparse
import itertools
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from llama.cli.model import default_model_path
from tests.acceptance.hosting import Hosted
from tests.grammar.generations import SCHEMAS, Generation, Post, counts, generate_all, poster, random_weights
from tests.running import RunningServer

KINDS = ("valid", "cut", "invalid")
SHARED = Path(__file__).resolve().parents[3] / "shared" / "vocab"
VOCABS = ("gpt-2", "llama-spm", "llama-bpe", "qwen2")


@contextmanager
def served(model: Path, log: Path) -> Iterator[Post]:
    """The model in a server process of its own."""
    with RunningServer(log, "-m", str(model), "-np", "8", "--kv-unified", "-c", "16384") as server:
        yield poster(server.port)


@contextmanager
def hosted(vocab: Path, folder: Path) -> Iterator[Post]:
    """Random weights over `vocab`, in this process."""
    model = folder / f"random-{vocab.name}"
    random_weights(vocab, model)
    server = Hosted("-m", str(model), "-np", "8", "--kv-unified", "-c", "16384")
    try:
        yield poster(server.port)
    finally:
        server.close()


def report(name: str, generations: list[Generation], seconds: float) -> None:
    """One line of counts, then what was invalid."""
    found = counts(generations)
    tally = " ".join(f"{found[kind]:8}" for kind in KINDS)
    print(f"{name:28} {len(generations):6} {tally} {seconds:8.0f} s", flush=True)
    for generation in generations:
        if generation.problem:
            print(f"  {generation.name} (seed {generation.seed}): {generation.problem}\n    {generation.text!r}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--generations", type=int, default=400)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--vocab", type=Path, action="append")
    arguments = parser.parse_args()
    vocabs = arguments.vocab or [SHARED / f"ggml-vocab-{name}.gguf" for name in VOCABS]
    half = arguments.generations // 2
    everything: list[Generation] = []
    print(f"{'model':28} {'texts':>6} " + " ".join(f"{kind:>8}" for kind in KINDS))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = arguments.model or default_model_path()
        servers = [(model.name, half, served(model, folder / "log"))]
        servers += [(f"random over {v.name}", half // len(vocabs), hosted(v, folder)) for v in vocabs]
        first = 0
        for label, n, server in servers:
            with server as post:
                start = time.monotonic()
                names = itertools.islice(itertools.cycle(SCHEMAS), first, first + n)
                seeds = range(arguments.first_seed + first, arguments.first_seed + first + n)
                generations = generate_all(post, names, seeds)
                report(label, generations, time.monotonic() - start)
            everything += generations
            first += n
    report("all", everything, 0)
    return int(counts(everything)["invalid"] > 0)


if __name__ == "__main__":
    sys.exit(main())
