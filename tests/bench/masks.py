"""Time masks on the shared hard grammars, in microseconds: every place of every text, by matchers that are new.

    python tests/bench/masks.py                                   the default model's vocabulary
    python tests/bench/masks.py --model gemma.gguf --model ...    other vocabularies
    python tests/bench/masks.py --case c-like --repeat 9          one case, measured more often

Every text is walked several times, each time by a new matcher; of each place the least time counts, so that what else
the machine does is left out. "kept" is the mask of a place that was asked before. Where the package llguidance is
installed its times stand beside ours.
"""

import argparse
import importlib.util
import json
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from llama.cli.model import default_model_path
from llama.grammar import Program, TokenTrie, compile_grammar, schema_to_gbnf
from llama.grammar.matcher import Matcher
from llama.modelfile import ModelFile
from llama.tokenizer import Vocab, load_vocab
from tests.bench import rival_masks

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases" / "grammar-hard"


def compiled(case: dict[str, Any]) -> Program:
    """The program of a case, made anew."""
    text = case["grammar"] if case["kind"] == "gbnf" else schema_to_gbnf(case["schema"])
    return compile_grammar.__wrapped__(text)


def clocked(work: Callable[[], object]) -> int:
    """Nanoseconds that `work` takes."""
    start = time.perf_counter_ns()
    work()
    return time.perf_counter_ns() - start


def summary(times: Iterable[int]) -> list[float]:
    """Median, 99th percentile and maximum in microseconds."""
    return [float(np.percentile(list(times), q)) / 1e3 for q in (50, 99, 100)]


def walk(matcher: Matcher, tokens: list[int]) -> tuple[list[int], list[int]]:
    """Nanoseconds of the mask at each place, asked once and again."""
    constraint = matcher.constraint()
    first, again = [], []
    for token in tokens:
        first.append(clocked(constraint.mask))
        again.append(clocked(constraint.mask))
        constraint.advance(token)
    return first, again


def measure(case: dict[str, Any], texts: list[list[int]], trie: TokenTrie, repeat: int) -> list[float]:
    """Milliseconds to compile; median, 99th percentile and maximum of a mask; median of one that is kept."""
    compiling = min(clocked(lambda: compiled(case)) for _ in range(3)) / 1e6
    program = compiled(case)
    first: list[int] = []
    again: list[int] = []
    for tokens in texts:
        walks = [walk(Matcher(program, trie), tokens) for _ in range(repeat)]
        first += np.min([walked for walked, _ in walks], axis=0).tolist()
        again += np.min([walked for _, walked in walks], axis=0).tolist()
    return [compiling, *summary(first), summary(again)[0]]


def texts_of(case: dict[str, Any], program: Program, vocab: Vocab, trie: TokenTrie) -> list[list[int]]:
    """The token ids of the texts that the case accepts; of several spellings, the one that this grammar takes."""
    found = []
    for spellings in case["accept"]:
        for text in [spellings] if isinstance(spellings, str) else spellings:
            tokens = list(vocab.encode(text, add_special=False))
            constraint = program.constraint(trie)
            if all(_advanced(constraint, token) for token in tokens):
                found.append(tokens)
                break
    return found


def _advanced(constraint: Any, token: int) -> bool:
    if not constraint.accepts(token):
        return False
    constraint.advance(token)
    return True


def report(path: Path, cases: list[dict[str, Any]], repeat: int) -> None:
    """The table of one vocabulary."""
    with ModelFile.open(path) as file:
        vocab = load_vocab(file.metadata)
    trie = TokenTrie(vocab.pieces, vocab.eog)
    rival = rival_masks.Rival(vocab) if importlib.util.find_spec("llguidance") else None
    print(f"\n{path.name}, {vocab.n_vocab:,} tokens")
    columns = ["places", "compile ms", "median", "p99", "max", "kept"]
    if rival is not None:
        columns += ["llg median", "llg p99", "llg max"]
    print(f"{'':16}" + "".join(f"{column:>12}" for column in columns))
    for case in cases:
        texts = texts_of(case, compiled(case), vocab, trie)
        row = measure(case, texts, trie, repeat)
        if rival is not None:
            row += summary(rival.times(case, texts, repeat))
        places = sum(map(len, texts))
        print(f"{case['name']:16}{places:12}" + "".join(f"{value:12.1f}" for value in row), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, action="append")
    parser.add_argument("--case", action="append")
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    cases = [json.loads(path.read_text()) for path in sorted(CASES.glob("*.json"))]
    chosen = [case for case in cases if not arguments.case or case["name"] in arguments.case]
    for model in arguments.model or [default_model_path()]:
        report(model, chosen, arguments.repeat)


if __name__ == "__main__":
    main()
