"""Watches the model load inside the worker: says when it is ready, and ends the process when it fails."""

import gc
import os
import sys
import threading
from pathlib import Path

from llama.api.service import Service
from llama.cli.address import curl, urls
from llama.errors import LlamaError

LOAD_FAILED = 3  # what gunicorn's arbiter understands as "starting another worker is of no use"


def watch_loading(service: Service) -> None:
    """Start the engine, and a thread that waits for it."""
    service.ensure_started()
    threading.Thread(target=_wait, args=(service,), name="loading", daemon=True).start()


def _wait(service: Service) -> None:
    try:
        service.wait_until_ready()
    except LlamaError as error:
        if service.engine.state == "stopping":
            return
        print(f"error: {error}", file=sys.stderr, flush=True)
        os._exit(LOAD_FAILED)
    # What was loaded stays. To look through all of it took 50 ms and more, while every stream and /health waited.
    gc.collect()
    gc.freeze()
    print("\n".join(ready_lines(service)), flush=True)


def ready_lines(service: Service) -> list[str]:
    """What is served, where, by which kernels, and how to try it."""
    parts, settings = service.parts, service.settings
    about = parts.description
    name = Path(service.model_id).name
    kind = ", ".join(filter(None, (about.architecture, about.file_type, f"{about.size / 1e6:.0f} MB")))
    slots = f"{settings.n_slots} requests at once, context {service.n_ctx}"
    return [
        f"serving {name} ({kind}) on {', '.join(urls(settings))}",
        f"kernels: {parts.model.executor.name}; {slots}",
        f"try: {curl(settings)}",
    ]
