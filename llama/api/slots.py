"""/slots: what each place in the engine does, and keeping its cache in a file."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from llama.api.field import text
from llama.api.service import Service
from llama.api.settings_body import request_body
from llama.engine import SlotInfo
from llama.errors import InvalidRequest, NotSupported, Unavailable

Body = Mapping[str, Any]
Query = Mapping[str, str]
FILE_NAME = re.compile(r"[\w .+-]{1,255}")


def list_slots(service: Service, body: Body, query: Query) -> list[dict[str, Any]]:
    """Every slot. With `fail_on_no_slot` in the query, raises Unavailable when none is free."""
    if not service.settings.slots:
        raise NotSupported("This server does not support slots endpoint. Start it with `--slots`")
    slots = service.engine.slots()
    if query.get("fail_on_no_slot") and all(slot.is_processing for slot in slots):
        raise Unavailable("no slot available")
    return [_slot(service, slot) for slot in slots]


def _slot(service: Service, slot: SlotInfo) -> dict[str, Any]:
    body: dict[str, Any] = {
        "id": slot.id,
        "n_ctx": slot.n_ctx,
        "speculative": False,
        "is_processing": slot.is_processing,
    }
    if slot.request is None:
        return body
    body |= {
        "id_task": slot.id_task,
        "n_prompt_tokens": slot.n_prompt_tokens,
        "n_prompt_tokens_processed": slot.n_prompt_tokens_processed,
        "n_prompt_tokens_cache": slot.n_prompt_tokens_cache,
        "params": request_body(slot.request, texts=False),
        "next_token": [
            {
                "has_next_token": slot.is_processing,
                "has_new_line": slot.has_new_line,
                "n_remain": slot.n_remain,
                "n_decoded": slot.n_decoded,
            }
        ],
    }
    if service.settings.slots_debug:
        vocab = service.parts.vocab
        body |= {"prompt": vocab.decode(slot.prompt), "generated": vocab.decode(slot.generated)}
    return body


def slot_action(service: Service, body: Body, query: Query) -> dict[str, Any]:
    """Save a slot's cache to a file, restore it, or erase it. Raises NotSupported without --slot-save-path."""
    try:
        slot = int(body["id"])
    except ValueError:
        raise InvalidRequest("Invalid slot ID", "id_slot") from None
    action = query.get("action")
    if action == "erase":
        _folder(service)
        return {"id_slot": slot, "n_erased": service.engine.erase_slot(slot)}
    if action not in ("save", "restore"):
        raise InvalidRequest("Invalid action: use ?action=save, restore or erase", "action")
    name = body.get("filename")
    path = _folder(service) / _checked(text().read("filename", name))
    if action == "save":
        done = service.engine.save_slot(slot, path)
        return {
            "id_slot": slot,
            "filename": name,
            "n_saved": done.n_tokens,
            "n_written": done.n_bytes,
            "timings": {"save_ms": done.ms},
        }
    done = service.engine.restore_slot(slot, path)
    return {
        "id_slot": slot,
        "filename": name,
        "n_restored": done.n_tokens,
        "n_read": done.n_bytes,
        "timings": {"restore_ms": done.ms},
    }


def _folder(service: Service) -> Path:
    if service.settings.slot_save_path is None:
        raise NotSupported("This server does not support slots action. Start it with `--slot-save-path`")
    return Path(service.settings.slot_save_path)


def _checked(name: str) -> str:
    if not FILE_NAME.fullmatch(name) or name.startswith(".") or ".." in name or name != name.strip():
        raise InvalidRequest("Invalid filename: use letters, digits, spaces, and _ . + - only", "filename")
    return name
