"""What gunicorn calls at the turns of its life."""

from typing import TYPE_CHECKING, Any

from llama.cli.current import settings
from llama.cli.log import set_up_log

if TYPE_CHECKING:
    from llama.web.app import Mounted

ONE_WORKER = (
    "one worker per model: each would hold a copy of it. Raise -np or --threads-http instead; see docs/deploy.md"
)


def on_starting(server: Any) -> None:
    """Refuse more than one worker."""
    if server.cfg.workers != 1:
        raise SystemExit(f"error: {ONE_WORKER}")


def post_fork(server: Any, worker: Any) -> None:
    """Set the log up in the worker."""
    set_up_log(settings())


def post_worker_init(worker: Any) -> None:
    """Load the model, and let streams know when the worker is told to stop."""
    from llama.cli.watch import watch_loading  # in the worker: it brings the whole engine

    mounted: Mounted = worker.wsgi.extensions["llama"]
    mounted.lifecycle.stopping = lambda: not worker.alive
    watch_loading(mounted.service)


def worker_exit(server: Any, worker: Any) -> None:
    """Stop the engine: compiled code must not run while the interpreter goes away."""
    application = getattr(worker, "wsgi", None)
    if application is not None:
        application.extensions["llama"].service.close()
