"""Metadata of the model file that the command line replaces."""

from llama.errors import SettingsError
from llama.settings import Settings
from llama.settings.option import boolean, integer, number, text

READERS = {"int": integer, "float": number, "bool": boolean, "str": text}


def metadata_overrides(settings: Settings, architecture: str) -> dict[str, object]:
    """Metadata keys with the values that stand in for the file's. Raises SettingsError."""
    values = rope_overrides(settings, architecture)
    for item in settings.override_kv:
        for part in item.split(","):
            key, value = _one(part)
            values[key] = value
    return values


def rope_overrides(settings: Settings, architecture: str) -> dict[str, object]:
    """What the --rope and --yarn flags mean as metadata."""
    factor = settings.rope_scale
    if factor is None and settings.rope_freq_scale:
        factor = 1 / settings.rope_freq_scale
    scaling = f"{architecture}.rope.scaling"
    values = {
        f"{scaling}.type": settings.rope_scaling or ("linear" if factor not in (None, 1) else None),
        f"{scaling}.factor": factor,
        f"{scaling}.original_context_length": settings.yarn_orig_ctx,
        f"{scaling}.yarn_ext_factor": settings.yarn_ext_factor,
        f"{scaling}.yarn_attn_factor": settings.yarn_attn_factor,
        f"{scaling}.yarn_beta_slow": settings.yarn_beta_slow,
        f"{scaling}.yarn_beta_fast": settings.yarn_beta_fast,
        f"{architecture}.rope.freq_base": settings.rope_freq_base,
    }
    return {key: value for key, value in values.items() if value is not None}


def _one(item: str) -> tuple[str, object]:
    key, equals, typed = item.partition("=")
    kind, colon, value = typed.partition(":")
    if not (key and equals and colon and kind in READERS):
        raise SettingsError(f"--override-kv must be KEY=TYPE:VALUE with TYPE {', '.join(READERS)}, got {item!r}")
    return key, READERS[kind](value)
