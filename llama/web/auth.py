"""API keys: who may come in."""

import hmac
from collections.abc import Iterable
from typing import Protocol

from llama.errors import Unauthorized

PUBLIC = frozenset({"/health", "/v1/health", "/"})


class Headers(Protocol):
    """Headers by name, in any case."""

    def get(self, key: str, /) -> str | None:
        """The header, None if it was not sent."""
        ...


def check_key(headers: Headers, keys: Iterable[str]) -> None:
    """Raise Unauthorized unless the headers carry one of `keys`. Every key is compared, in constant time."""
    given = headers.get("Authorization")
    if given is None:
        key = headers.get("X-Api-Key") or ""
    else:
        scheme, _, rest = given.partition(" ")
        key = rest.strip() if scheme.lower() == "bearer" and rest else given
    sent = key.encode("utf-8", "replace")
    found = False
    for known in keys:
        found |= hmac.compare_digest(sent, known.encode())
    if not found:
        raise Unauthorized("Invalid API Key")
