"""The command line: reads it, fetches what is missing, serves."""

import os
import sys
from collections.abc import Sequence

from llama.cli.log import set_up_log
from llama.cli.server import serve
from llama.errors import LlamaError
from llama.modelfile.source import find_adapters, find_model
from llama.settings import Settings, help_text, read_settings
from llama.settings.version import VERSION


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks; the exit code of the process."""
    try:
        settings = read_settings(arguments)
        set_up_log(settings)
        said = _information(settings)
        if said is not None:
            print(said, flush=True)
            return 0
        settings.keys()
        _fetch(settings)
        return serve(settings)
    except LlamaError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # `--help | head`; what is left to write must have a place to go when the process ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130


def _information(settings: Settings) -> str | None:
    if settings.help:
        return help_text()
    if settings.version:
        return VERSION
    if settings.list_architectures:
        from llama.models import known_architectures  # with numba: only where it is needed

        return "\n".join(sorted(known_architectures()))
    return None


def _fetch(settings: Settings) -> None:
    """Fetch the model before the server starts, so that a person sees the progress and the reason of a failure."""
    find_adapters(settings)
    if settings.model is None and settings.hf_repo is None:
        print("no model given (-m FILE or -hf OWNER/REPO): serving the default one, SmolLM2-135M-Instruct", flush=True)
    find_model(settings)
