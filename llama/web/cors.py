"""CORS headers: from which pages a browser may call us."""

import re

from llama.settings import Settings

LOCAL = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?", re.IGNORECASE)


def cors_headers(settings: Settings, origin: str | None, *, preflight: bool) -> dict[str, str]:
    """The headers for a request from `origin`; a preflight also learns methods and headers."""
    headers = {}
    allowed = _allowed(settings, origin)
    if allowed is not None:
        headers["Access-Control-Allow-Origin"] = allowed
        if settings.cors_credentials:
            headers["Access-Control-Allow-Credentials"] = "true"
    if allowed not in (None, "*"):
        headers["Vary"] = "Origin"
    if preflight:
        headers["Access-Control-Allow-Methods"] = settings.cors_methods
        headers["Access-Control-Allow-Headers"] = settings.cors_headers
    return headers


def _allowed(settings: Settings, origin: str | None) -> str | None:
    """What the allow-origin header says; None for no header."""
    wanted = settings.cors_origins.strip()
    if wanted == "*":
        return (origin or "") if settings.cors_credentials else "*"
    if origin is None:
        return None
    if wanted == "localhost":
        return origin if LOCAL.fullmatch(origin) else None
    listed = {item.strip() for item in wanted.split(",")}
    return origin if origin in listed else None
