"""/props: what the server and its model are like."""

from collections.abc import Mapping
from typing import Any

from llama.api.call import Call
from llama.api.head import FINGERPRINT
from llama.api.service import Service
from llama.api.settings_body import generation_settings
from llama.chat.abilities import Abilities
from llama.engine.request import Request
from llama.errors import NotSupported

Body = Mapping[str, Any]
Query = Mapping[str, str]


def props(service: Service, body: Body, query: Query) -> dict[str, Any]:
    """The properties, with the sampling parameters of native requests that say nothing."""
    parts, settings = service.parts, service.settings
    defaults, vocab = parts.native, parts.vocab
    request = Request(
        prompt=(),
        sampling=defaults.sampling,
        n_predict=defaults.n_predict,
        stop=defaults.stop,
        n_keep=defaults.n_keep,
        lora=parts.adapters.scales(()),
    )
    call = Call(sampling=defaults.sampling, rule=defaults.rule)
    found = {
        "default_generation_settings": {"params": generation_settings(request, call), "n_ctx": service.n_ctx},
        "total_slots": settings.n_slots,
        "model_alias": service.model_id,
        "model_ftype": parts.description.file_type,
        "model_path": parts.description.path,
        "modalities": {"vision": False, "video": False, "audio": False},
        "media_marker": "<__media__>",
        "endpoint_slots": settings.slots,
        "endpoint_props": settings.props,
        "endpoint_metrics": settings.metrics,
        "ui": settings.ui,
        "ui_settings": {},
        "chat_template": parts.templates.source,
        "chat_template_caps": template_caps(parts.templates.default.abilities),
        "bos_token": "" if vocab.bos is None else vocab.text(vocab.bos),
        "eos_token": "" if vocab.eos is None else vocab.text(vocab.eos),
        "build_info": FINGERPRINT,
        "is_sleeping": False,
        "cors_proxy_enabled": False,
    }
    tool_use = parts.templates.tool_source
    return found if tool_use is None else {**found, "chat_template_tool_use": tool_use}


def template_caps(takes: Abilities) -> dict[str, bool]:
    """What the chat template can do, by llama-server's names."""
    return {
        "supports_tools": takes.tools,
        "supports_tool_calls": takes.calls,
        "supports_system_role": takes.system,
        "supports_parallel_tool_calls": takes.parallel,
        "supports_preserve_reasoning": True,
        "supports_reasoning_effort": False,
        "supports_string_content": takes.text,
        "supports_typed_content": takes.parts,
        "supports_object_arguments": takes.objects,
    }


def set_props(service: Service, body: Body) -> dict[str, Any]:
    """Accepts, with --props, and changes nothing: as llama-server. Raises NotSupported without it."""
    if not service.settings.props:
        raise NotSupported("This server does not support changing global properties. Start it with `--props`")
    return {"success": True}
