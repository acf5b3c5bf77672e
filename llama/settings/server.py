"""Settings of the HTTP side: addresses, keys, limits, what is served."""

from dataclasses import dataclass

from llama.settings.option import comma_list, integer, option, switch, text


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """Where the server listens, whom it lets in, and what it logs."""

    host: tuple[str, ...] = option(
        "--host",
        read=comma_list,
        default=("127.0.0.1",),
        env="LLAMA_ARG_HOST",
        help="addresses, separated by commas; a path ending in .sock is a UNIX socket",
        shown="127.0.0.1",
    )
    port: int = option("--port", read=integer, default=8080, env="LLAMA_ARG_PORT", help="port of every address")
    reuse_port: bool = switch("--reuse-port", env="LLAMA_ARG_REUSE_PORT", help="share the port with other processes")
    static_path: str | None = option(
        "--path", read=text, env="LLAMA_ARG_STATIC_PATH", help="folder of files served under / instead of our page"
    )
    api_prefix: str = option(
        "--api-prefix", read=text, default="", env="LLAMA_ARG_API_PREFIX", help="path in front of every endpoint"
    )
    api_key: tuple[str, ...] = option(
        "--api-key", read=comma_list, default=(), env="LLAMA_API_KEY", append=True, help="accepted keys, by commas"
    )
    api_key_file: str | None = option(
        "--api-key-file", read=text, env="LLAMA_ARG_API_KEY_FILE", help="file of keys, one a line, # for comments"
    )
    ssl_key_file: str | None = option(
        "--ssl-key-file", read=text, env="LLAMA_ARG_SSL_KEY_FILE", help="private key of the TLS certificate"
    )
    ssl_cert_file: str | None = option(
        "--ssl-cert-file", read=text, env="LLAMA_ARG_SSL_CERT_FILE", help="TLS certificate"
    )
    timeout: int = option(
        "-to",
        "--timeout",
        read=integer,
        default=3600,
        env="LLAMA_ARG_TIMEOUT",
        help="seconds after which a request that is not a stream is given up",
    )
    threads_http: int = option(
        "--threads-http",
        read=integer,
        default=-1,
        env="LLAMA_ARG_THREADS_HTTP",
        help="connections served at the same time; -1 = 128, or slots + 16 if that is more",
    )
    graceful_timeout: int = option(
        "--graceful-timeout",
        read=integer,
        default=30,
        env="LLAMA_ARG_GRACEFUL_TIMEOUT",
        help="seconds that running requests get after SIGTERM",
    )
    sse_ping_interval: int = option(
        "--sse-ping-interval",
        read=integer,
        default=30,
        env="LLAMA_ARG_SSE_PING_INTERVAL",
        help="seconds of silence before a comment keeps a stream alive; -1 = never",
    )
    max_body: int = option(
        "--max-body", read=integer, default=100, env="LLAMA_ARG_MAX_BODY", help="largest request body in MiB"
    )
    max_choices: int = option(
        "--max-choices",
        read=integer,
        default=128,
        env="LLAMA_ARG_MAX_CHOICES",
        help="largest n, and largest number of prompts, of one request",
    )
    cors_origins: str = option(
        "--cors-origins",
        read=text,
        default="*",
        env="LLAMA_ARG_CORS_ORIGINS",
        help="origins that browsers may call from: *, localhost, or a list by commas",
    )
    cors_methods: str = option(
        "--cors-methods",
        read=text,
        default="GET, POST, DELETE, OPTIONS",
        env="LLAMA_ARG_CORS_METHODS",
        help="methods that browsers may use",
    )
    cors_headers: str = option(
        "--cors-headers", read=text, default="*", env="LLAMA_ARG_CORS_HEADERS", help="headers that browsers may send"
    )
    cors_credentials: bool = switch(
        "--cors-credentials", default=True, env="LLAMA_ARG_CORS_CREDENTIALS", help="let browsers send credentials"
    )
    metrics: bool = switch("--metrics", env="LLAMA_ARG_ENDPOINT_METRICS", help="serve /metrics")
    slots: bool = switch("--slots", default=True, env="LLAMA_ARG_ENDPOINT_SLOTS", help="serve /slots")
    slots_debug: bool = switch(
        "--slots-debug", env="LLAMA_SERVER_SLOTS_DEBUG", help="show prompts and generated texts in /slots"
    )
    props: bool = switch("--props", env="LLAMA_ARG_ENDPOINT_PROPS", help="let POST /props change settings")
    ui: bool = switch("--ui", "--webui", default=True, env="LLAMA_ARG_UI", help="serve the page under /")
    verbosity: int = option(
        "-lv",
        "--verbosity",
        "--log-verbosity",
        read=integer,
        default=3,
        env="LLAMA_ARG_LOG_VERBOSITY",
        help="0 output, 1 errors, 2 warnings, 3 information, 4 trace, 5 debug",
    )
    verbose: bool = switch("-v", "--verbose", "--log-verbose", help="log everything")
    log_disable: bool = switch("--log-disable", env="LLAMA_ARG_LOG_DISABLE", help="log nothing")
    log_file: str | None = option("--log-file", read=text, env="LLAMA_ARG_LOG_FILE", help="write the log to this file")
    log_jsonl: bool = switch("--log-jsonl", env="LLAMA_ARG_LOG_JSONL", help="log lines are JSON objects")
    list_architectures: bool = switch("--list-architectures", help="print the known architectures and end")
    version: bool = switch("--version", help="print the version and end")
    help: bool = switch("-h", "--help", "--usage", help="print all settings and end")
