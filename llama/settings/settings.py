"""The settings: one frozen value made of themes. Each field is a flag, a variable and a line of the documentation."""

from dataclasses import dataclass
from pathlib import Path

from llama.errors import SettingsError
from llama.settings.chat import ChatSettings
from llama.settings.compute import ComputeSettings
from llama.settings.model import ModelSettings
from llama.settings.sampling import SamplingSettings
from llama.settings.server import ServerSettings
from llama.settings.vertex import VertexSettings

DEFAULT_SLOTS = 4
DEFAULT_HTTP_THREADS = 128  # a waiting client costs a thread and little else; 64 at once must all be served
SPARE_HTTP_THREADS = 8  # connections that are never taken by generations, so that /health always finds one


@dataclass(frozen=True, kw_only=True)
class Settings(SamplingSettings, ChatSettings, VertexSettings, ServerSettings, ComputeSettings, ModelSettings):
    """Everything that can be set. Raises SettingsError for values that make no sense together or alone.

    --help and the documentation have the last base first: what a newcomer looks for is at the top.
    """

    def __post_init__(self) -> None:
        _check(0 < self.port < 65536, "--port", "between 1 and 65535", self.port)
        _check(0 <= self.aip_http_port < 65536, "--aip-http-port", "between 0 and 65535", self.aip_http_port)
        _check(self.ctx_size >= 0, "--ctx-size", "at least 0", self.ctx_size)
        _check(self.batch_size > 0, "--batch-size", "at least 1", self.batch_size)
        _check(self.ubatch_size > 0, "--ubatch-size", "at least 1", self.ubatch_size)
        _check(self.parallel == -1 or self.parallel > 0, "--parallel", "at least 1, or -1", self.parallel)
        _check(self.n_predict >= -1, "--n-predict", "at least -1", self.n_predict)
        _check(self.max_body > 0, "--max-body", "at least 1", self.max_body)
        _check(self.max_choices > 0, "--max-choices", "at least 1", self.max_choices)
        _check(bool(self.host), "--host", "an address", self.host)
        threads = self.threads_http
        _check(threads == -1 or threads > SPARE_HTTP_THREADS, "--threads-http", "at least 9, or -1", threads)
        if (self.ssl_key_file is None) != (self.ssl_cert_file is None):
            raise SettingsError("--ssl-key-file and --ssl-cert-file go together")
        if self.api_prefix and (not self.api_prefix.startswith("/") or self.api_prefix.endswith("/")):
            raise SettingsError(f"--api-prefix must begin with / and not end with it, got {self.api_prefix!r}")

    @property
    def http_port(self) -> int:
        """The port of every address."""
        return self.aip_http_port if self.predict_path and self.aip_http_port else self.port

    @property
    def n_slots(self) -> int:
        """How many requests are served at the same time."""
        return DEFAULT_SLOTS if self.parallel == -1 else self.parallel

    @property
    def n_shares(self) -> int:
        """How many equal parts the context is cut into, a request one; 1: any may use all of it."""
        unified = self.parallel == -1 if self.kv_unified is None else self.kv_unified
        return 1 if unified else self.n_slots

    @property
    def n_http_threads(self) -> int:
        """How many connections are served at the same time."""
        wanted = max(DEFAULT_HTTP_THREADS, self.n_slots + 2 * SPARE_HTTP_THREADS)
        return wanted if self.threads_http == -1 else self.threads_http

    @property
    def n_queue(self) -> int:
        """How many requests may wait for a slot: never so many that no thread is left for /health."""
        room = max(0, self.n_http_threads - SPARE_HTTP_THREADS - self.n_slots)
        return room if self.queue_limit < 0 else min(self.queue_limit, room)

    def keys(self) -> frozenset[str]:
        """The accepted API keys, those of the key file included; none = open. Raises SettingsError."""
        if self.api_key_file is None:
            return frozenset(self.api_key)
        lines = (line.strip() for line in read_text(self.api_key_file, "--api-key-file").splitlines())
        return frozenset(self.api_key) | {line for line in lines if line and not line.startswith("#")}


def read_text(path: str, flag: str) -> str:
    """The text of the file that `flag` names. Raises SettingsError if it cannot be read."""
    try:
        return Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{flag}: cannot read {path}: {error}") from None


def _check(condition: bool, flag: str, wanted: str, value: object) -> None:
    if not condition:
        raise SettingsError(f"{flag} must be {wanted}, got {value}")
