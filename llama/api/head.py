"""What is the same on every chunk of an answer: id, time, model."""

import secrets
import time
from dataclasses import dataclass

from llama.settings.version import VERSION

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
FINGERPRINT = f"b0-{VERSION}"


def new_id(prefix: str, length: int = 32) -> str:
    """A fresh id that cannot be guessed."""
    return prefix + "".join(secrets.choice(ALPHABET) for _ in range(length))


@dataclass(frozen=True, slots=True)
class Head:
    """The identity of an answer."""

    id: str
    model: str
    created: int

    @classmethod
    def new(cls, prefix: str, model: str, request_id: str | None = None) -> "Head":
        """The identity of an answer that begins now."""
        return cls(f"{prefix}{request_id}" if request_id else new_id(prefix), model, int(time.time()))

    def fields(self, kind: str) -> dict[str, object]:
        """The fields that open every object of the answer."""
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}
