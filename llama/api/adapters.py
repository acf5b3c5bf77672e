"""LoRA adapters as callers see them: which there are, how strong each is, and how a request says otherwise."""

from collections.abc import Mapping, Sequence
from typing import Any

from llama.api.field import Kind, array, integer, number, wrong
from llama.api.json_text import decode, kind_of
from llama.errors import InvalidRequest
from llama.models import Adapter

#: What a request says of adapters: scales by id. Adapters that it leaves out are not used; () says nothing.
Asked = tuple[tuple[int, float], ...]
LARGEST = 1e4  # a scale beyond it would leave nothing of the model, and numbers that are none
WANTED = "an array of objects with 'id' and 'scale' fields"


def scales_of_adapters() -> Kind:
    """The field `lora`: [{id, scale}]."""

    def read(name: str, value: object) -> Asked:
        if not isinstance(value, list):
            raise wrong(name, WANTED, value)
        return tuple(_one(name, item) for item in value)

    item = {"type": "object", "properties": {"id": {"type": "integer"}, "scale": {"type": "number"}}}
    return Kind(read, array().schema | {"items": item | {"required": ["id", "scale"]}})


def _one(name: str, item: object) -> tuple[int, float]:
    if not isinstance(item, Mapping) or item.get("id") is None or item.get("scale") is None:
        raise wrong(name, WANTED, item)
    scale = number(-LARGEST, LARGEST, clamp=False).read(f"{name}.scale", item["scale"])
    return integer(0).read(f"{name}.id", item["id"]), scale


class Adapters:
    """The adapters of a model, and how strong each is for requests that do not say. Safe from any thread."""

    def __init__(self, adapters: Sequence[Adapter] = (), scales: Sequence[float] = ()) -> None:
        self._adapters = tuple(adapters)
        self._scales = tuple(scales)

    def listed(self) -> list[dict[str, Any]]:
        """Every adapter, with the scale that is in force."""
        return [
            {
                "id": id,
                "path": adapter.path,
                "scale": scale,
                "task_name": adapter.task_name,
                "prompt_prefix": adapter.prompt_prefix,
            }
            for id, (adapter, scale) in enumerate(zip(self._adapters, self._scales, strict=True))
        ]

    def scales(self, asked: Asked) -> tuple[float, ...]:
        """How strong each adapter is for a request. Raises InvalidRequest."""
        return self._spread(asked) if asked else self._scales

    def set(self, asked: Asked) -> None:
        """From now on, requests that do not say get these. Raises InvalidRequest."""
        self._scales = self._spread(asked)

    def _spread(self, asked: Asked) -> tuple[float, ...]:
        """A scale for each adapter. Where there are none the ids do not matter, as with llama-server."""
        scales = [0.0] * len(self._adapters)
        for id, scale in asked if scales else ():
            if id >= len(scales):
                raise InvalidRequest(
                    f"Field 'lora': there is no adapter {id}, ids are 0 to {len(scales) - 1}; GET /lora-adapters lists "
                    "them",
                    "lora",
                )
            scales[id] = scale
        return tuple(scales)


def adapters_body(data: bytes) -> dict[str, Any]:
    """The body of POST /lora-adapters, an array, as `adapters`. Raises InvalidRequest."""
    value = decode(data)
    if not isinstance(value, list):
        raise InvalidRequest(f"Request body must be an array, but is {kind_of(value)}")
    return {"adapters": value}
