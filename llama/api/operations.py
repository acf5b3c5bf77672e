"""Endpoints about the server itself: health, requests that run."""

from collections.abc import Mapping
from typing import Any

from llama.api.adapters import scales_of_adapters
from llama.api.field import text
from llama.api.service import Service
from llama.errors import InvalidRequest, NotSupported, Unavailable
from llama.settings.version import VERSION

LONGEST_STEP = 120.0  # seconds without a sign of life from a busy engine that count as hung

Body = Mapping[str, Any]
Query = Mapping[str, str]


def health(service: Service, body: Body, query: Query) -> dict[str, Any]:
    """Whether requests are served. Raises Unavailable if the engine hangs."""
    age = service.engine.pulse_age()
    if age > LONGEST_STEP:
        raise Unavailable(f"the engine has shown no sign of life for {age:.0f} s")
    return {"status": "ok"}


def list_requests(service: Service, body: Body, query: Query) -> dict[str, Any]:
    """The requests that run or wait."""
    return {"object": "list", "data": service.running()}


def cancel_request(service: Service, body: Body, query: Query) -> dict[str, Any]:
    """End the requests with the id in the path. Raises NotFound."""
    service.cancel(str(body["id"]))
    return {"id": body["id"], "object": "request", "cancelled": True}


def version(service: Service, body: Body, query: Query) -> dict[str, Any]:
    """The version of this program."""
    return {"version": VERSION}


def lora_adapters(service: Service, body: Body, query: Query) -> list[dict[str, Any]]:
    """The adapters, with the scales that requests get which do not say."""
    return service.parts.adapters.listed()


def set_lora_adapters(service: Service, body: Body, query: Query) -> dict[str, Any]:
    """Change those scales; adapters that are left out get 0. Raises InvalidRequest."""
    service.parts.adapters.set(scales_of_adapters().read("adapters", body.get("adapters")))
    return {"success": True}


def transcribe(service: Service, body: Body, query: Query) -> dict[str, Any]:
    """Raises NotSupported: no model that is served here hears."""
    raise NotSupported("The current model does not support audio input.")


def control(service: Service, body: Body) -> dict[str, Any]:
    """Ends the thought of a running completion. Raises InvalidRequest for another action."""
    if not body.get("id"):
        raise InvalidRequest("missing completion id", "id")
    if body.get("action") != "reasoning_end":
        raise InvalidRequest("unknown control action", "action")
    if service.engine.end_reasoning(text().read("id", body["id"])):
        return {"success": True}
    return {"success": False, "message": "no thought is open in a running completion of this id"}
