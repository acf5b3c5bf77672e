"""Measure speed and memory over HTTP and print the table.

    make bench                                           our server on the default model
    make bench ARGS="--rival /path/to/llama-server"      beside llama.cpp, round after round in one run
    make bench ARGS="--model a.gguf --model b.gguf"      on other models

With --requantise DIR (which holds llama-quantize) the default model is also measured as Q4_0, Q8_0, Q6_K and F16.
Nothing else should run on the machine meanwhile.
"""

import argparse
import contextlib
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.bench import load, servers

FIGURES: dict[str, Callable[[str, load.Prompts], float]] = {
    "prefill 512 (t/s)": load.prefill,
    "decode (t/s)": load.decode,
    "8 streams (t/s)": load.together,
    "decode at 4000 (t/s)": lambda url, prompts: load.decode(url, prompts, context=4000),
}


def measure(running: list[servers.Server], rounds: int) -> dict[str, dict[str, float]]:
    """Medians over the rounds, each server in turn: figure -> server -> value."""
    prompts = load.Prompts()
    for server in running:
        load.complete(server.url, prompts.draw(32), 8)
    values: dict[str, dict[str, list[float]]] = {f: {s.name: [] for s in running} for f in FIGURES}
    for _ in range(rounds):
        for figure, work in FIGURES.items():
            for server in running:
                values[figure][server.name].append(work(server.url, prompts))
    return {f: {name: statistics.median(v) for name, v in row.items()} for f, row in values.items()}


def report(model: Path, running: list[servers.Server], rounds: int) -> None:
    """Print one model's table."""
    table = measure(running, rounds)
    names = [server.name for server in running]
    print(f"\n{model.name}, {model.stat().st_size / 1e6:.0f} MB")
    print(f"{'':24}" + "".join(f"{name:>12}" for name in names) + ("       ratio" if len(names) > 1 else ""))
    for figure, row in table.items():
        ratio = f"{row[names[0]] / row[names[1]]:12.2f}" if len(names) > 1 else ""
        print(f"{figure:24}" + "".join(f"{row[name]:12.1f}" for name in names) + ratio)
    for label, key in (("resident memory (MB)", "rss"), ("peak memory (MB)", "peak")):
        print(f"{label:24}" + "".join(f"{server.memory()[key]:12.0f}" for server in running))
    print(f"{'ready after (s)':24}" + "".join(f"{server.ready_after:12.1f}" for server in running))
    print(f"{'longest gap / usual':24}{load.stall(running[0].url, load.Prompts(2)):12.1f}", flush=True)


def requantised(model: Path, tools: Path, folder: Path) -> list[Path]:
    """The model as Q4_0, Q8_0, Q6_K and F16, made by llama-quantize."""
    made = []
    for kind in ("Q4_0", "Q8_0", "Q6_K", "F16"):
        target = folder / f"{model.stem}.{kind}.gguf"
        command = [str(tools / "llama-quantize"), "--allow-requantize", "--pure", str(model), str(target), kind]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        made.append(target)
    return made


def default_model() -> Path:
    """The default model, fetched when it is not there yet."""
    from llama.cli.model import default_model_path

    return default_model_path()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, action="append", help="GGUF file; may be given several times")
    parser.add_argument("--rival", type=Path, help="a llama-server binary to measure beside ours")
    parser.add_argument("--requantise", type=Path, metavar="DIR", help="folder with llama-quantize")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--port", type=int, default=18080)
    args = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        models = args.model or [default_model()]
        if args.requantise:
            models += requantised(models[0], args.requantise, Path(folder))
        for model in models:
            with contextlib.ExitStack() as stack:
                log = Path(folder) / "ours.log"
                running = [stack.enter_context(servers.ours(model, args.port, log))]
                if args.rival:
                    other = servers.rival(args.rival, model, args.port + 1, Path(folder) / "rival.log")
                    running.append(stack.enter_context(other))
                report(model, running, args.rounds)


if __name__ == "__main__":
    main()
