"""lm-eval: log-likelihoods and generations of tasks made of a few local lines, without any model hub."""

import json
import math
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import requests
from lm_eval import simple_evaluate
from lm_eval.tasks import TaskManager

CAPITALS = [("France", "Paris"), ("Italy", "Rome"), ("Egypt", "Cairo"), ("Japan", "Tokyo"), ("Spain", "Madrid")]
CHOICES = [city for _, city in CAPITALS]


def tasks(folder: Path) -> list[dict[str, Any]]:
    """Multiple choice, perplexity of whole texts, and generation, over lines of our own."""
    lines = [
        {"question": f"The capital of {land} is", "label": CHOICES.index(city), "answer": city, "choices": CHOICES}
        for land, city in CAPITALS
    ]
    file = folder / "capitals.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines))
    common: dict[str, Any] = {
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(file)}},
        "test_split": "test",
        "doc_to_text": "{{question}}",
    }
    return [
        {
            **common,
            "task": "capitals_choice",
            "output_type": "multiple_choice",
            "doc_to_choice": "{{choices}}",
            "doc_to_target": "{{label}}",
            "metric_list": [{"metric": "acc"}],
        },
        {
            **common,
            "task": "capitals_rolling",
            "output_type": "loglikelihood_rolling",
            "doc_to_text": "",
            "doc_to_target": "{{question}} {{answer}}.",
            "metric_list": [{"metric": "word_perplexity"}],
        },
        {
            **common,
            "task": "capitals_write",
            "output_type": "generate_until",
            "doc_to_target": "{{answer}}",
            "generation_kwargs": {"until": ["\n", "."], "max_gen_toks": 8, "do_sample": False},
            "filter_list": [{"name": "first", "filter": [{"function": "regex", "regex_pattern": "([A-Z][a-z]+)"}]}],
            "metric_list": [{"metric": "exact_match"}],
        },
    ]


def evaluate(url: str, kind: str, wanted: list[dict[str, Any]], **arguments: Any) -> dict[str, Any]:
    """The results of the tasks by name."""
    model = {"model": "m", "base_url": url, "num_concurrent": 2, "max_retries": 1, **arguments}
    found = simple_evaluate(kind, model_args=model, tasks=wanted, task_manager=TaskManager(), bootstrap_iters=0)
    return dict(found["results"])


def one_score(base: str) -> None:
    """A continuation's score equals the difference of two texts' scores."""

    def total(ids: list[int]) -> float:
        body = {"prompt": [ids], "max_tokens": 1, "echo": True, "logprobs": 1, "temperature": 0, "model": "m"}
        scores = requests.post(f"{base}/v1/completions", json=body, timeout=60).json()["choices"][0]["logprobs"]
        assert len(scores["token_logprobs"]) == len(scores["top_logprobs"]) == len(ids) + 1
        assert scores["token_logprobs"][0] is None
        return float(sum(scores["token_logprobs"][1:-1]))

    def encoded(text: str) -> list[int]:
        body = {"prompt": text, "add_special_tokens": False}
        return list(requests.post(f"{base}/tokenize", json=body, timeout=60).json()["tokens"])

    start, rest = encoded("The capital of France is"), encoded(" Paris")
    assert total(start + rest) < total(start)
    assert math.isclose(total(start), total(start), abs_tol=0)


def main() -> None:
    """The small model knows most of the capitals, by choice and by writing."""
    base = sys.argv[1]
    one_score(base)
    wanted = tasks(Path.cwd())
    results = evaluate(f"{base}/v1/completions", "local-completions", wanted, batch_size=4)
    choice = results["capitals_choice"]["acc,none"]
    written = results["capitals_write"]["exact_match,first"]
    perplexity = results["capitals_rolling"]["word_perplexity,none"]
    assert choice >= 0.6, results
    assert written >= 0.6, results
    assert 1 < perplexity < 1000, results
    print(f"lm-eval {version('lm-eval')}: choice {choice:.0%}, written {written:.0%}, perplexity {perplexity:.1f}")


if __name__ == "__main__":
    main()
