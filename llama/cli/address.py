"""Addresses: as gunicorn binds them, and as people type them."""

import socket
from collections.abc import Iterator

from llama.settings import Settings


def binds(settings: Settings) -> list[str]:
    """What gunicorn listens on, one entry for each host."""
    return [_bind(host, settings.http_port) for host in settings.host]


def _bind(host: str, port: int) -> str:
    if host.endswith(".sock"):
        return f"unix:{host}"
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def refused(settings: Settings) -> Iterator[str]:
    """The addresses that cannot be listened on, each with what to do."""
    for host, bind in zip(settings.host, binds(settings), strict=True):
        if bind.startswith("unix:"):
            continue
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            socket.create_server((host, settings.http_port), family=family).close()
        except OSError:
            yield f"cannot listen on {bind}: end the server that is there, or choose another --port or --host"


def urls(settings: Settings) -> list[str]:
    """Where the server can be reached."""
    scheme = "https" if settings.ssl_cert_file else "http"
    found = []
    for host, bind in zip(settings.host, binds(settings), strict=True):
        shown = bind.replace("0.0.0.0", "127.0.0.1", 1) if host == "0.0.0.0" else bind
        found.append(bind if bind.startswith("unix:") else f"{scheme}://{shown}{settings.api_prefix}")
    return found


def curl(settings: Settings) -> str:
    """A command to try the server with."""
    url = urls(settings)[0]
    target = url
    if url.startswith("unix:"):
        target = f"--unix-socket {url.removeprefix('unix:')} http://localhost{settings.api_prefix}"
    elif url.startswith("https:"):
        target = f"-k {url}"
    key = ' -H "Authorization: Bearer $KEY"' if settings.keys() else ""
    body = '{"messages": [{"role": "user", "content": "Hello!"}], "max_tokens": 40}'
    return f"curl {target}/v1/chat/completions{key} -d '{body}'"
