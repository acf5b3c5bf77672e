"""A served model: settings, engine, and the parts that the API needs. The one object that the web layer talks to."""

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from llama.api.parts import Parts, load_parts
from llama.engine.engine import Engine
from llama.engine.model import Loaded
from llama.errors import LlamaError, NotFound, Unavailable
from llama.settings import Settings

log = logging.getLogger(__name__)

T = TypeVar("T")


class Service:
    """A model and its engine. Nothing starts before `ensure_started`, and the model loads in the engine's thread."""

    def __init__(self, settings: Settings, load: Callable[[Settings], Parts] = load_parts) -> None:
        self.settings = settings
        self.started_at = time.time()
        self.engine = Engine(
            self._load,
            n_slots=settings.n_slots,
            n_ctx=settings.ctx_size,
            n_shares=settings.n_shares,
            n_batch=settings.ubatch_size,
            n_queue=settings.n_queue,
            context_shift=settings.context_shift,
        )
        self._load_parts = load
        self._parts: Parts | None = None
        self._resources: dict[str, Any] = {}
        self._lock = threading.Lock()
        self.error: LlamaError | None = None

    @classmethod
    def from_parts(cls, parts: Parts, settings: Settings | None = None) -> "Service":
        """A service of a model that is loaded already."""
        return cls(settings or Settings(), lambda _: parts)

    def _load(self) -> Loaded:
        try:
            self._parts = self._load_parts(self.settings)
        except LlamaError as error:
            self.error = error
            raise
        return self._parts.loaded

    def ensure_started(self) -> None:
        """Start the engine if it is not running in this process. Safe from any thread, and to repeat."""
        self.engine.start()

    def wait_until_ready(self, timeout: float = 600.0) -> None:
        """Return when the model is loaded. Raises the error that loading ended with, or Unavailable when time is up."""
        self.ensure_started()
        if self.engine.wait_until_ready(timeout):
            return
        raise self.error or self.unavailable()

    def close(self, grace: float = 0.0) -> None:
        """Stop the engine; requests that run get `grace` seconds."""
        self.engine.stop(grace)

    def resource(self, name: str, make: Callable[["Service"], T]) -> T:
        """The one object that `make` makes of this service."""
        with self._lock:
            if name not in self._resources:
                self._resources[name] = make(self)
            found: T = self._resources[name]
        return found

    @property
    def ready(self) -> bool:
        """True when requests are taken."""
        return self.engine.state == "ready"

    @property
    def parts(self) -> Parts:
        """The loaded model. Raises Unavailable while it loads, and when loading failed."""
        if self.ready and self._parts is not None:
            return self._parts
        raise self.unavailable()

    def unavailable(self) -> Unavailable:
        """The error for requests that cannot be served now."""
        state = self.engine.state
        if state == "failed":
            return Unavailable(f"the model could not be loaded: {self.error or 'see the log'}")
        if state == "stopping":
            return Unavailable("the server is stopping")
        return Unavailable("Loading model")

    @property
    def n_ctx(self) -> int:
        """The longest context of a request."""
        return self.engine.limits.n_ctx

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the model; the first is its id."""
        settings = self.settings
        if settings.alias:
            return tuple(sorted(set(settings.alias)))
        if settings.hf_repo:
            return (settings.hf_repo,)
        if settings.model:
            return (settings.model, Path(settings.model).name)
        path = self._parts.description.path if self._parts is not None else ""
        return (Path(path).name or "default",)

    @property
    def model_id(self) -> str:
        """What the model is called."""
        return self.names[0]

    def running(self) -> list[dict[str, object]]:
        """What is being served and what waits, by id."""
        return [
            {
                "id": item.id,
                "prompt_tokens": item.n_prompt,
                "completion_tokens": item.n_decoded,
                "seconds": round(item.seconds, 3),
                "state": item.state,
            }
            for item in self.engine.running()
        ]

    def cancel(self, id: str) -> None:
        """End the requests with this id, which may lack its prefix. Raises NotFound."""
        names = (id, f"cmpl-{id}", f"chatcmpl-{id}", f"msg_{id}", f"resp_{id}")
        if not any(self.engine.cancel(name) for name in names):
            raise NotFound(f"no running request has the id {id!r}; GET /v1/requests lists them", "id")
