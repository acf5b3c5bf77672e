"""The names of the samplers, as users may write them."""

from collections.abc import Iterable

from llama.errors import InvalidRequest

LETTERS = {
    "e": "penalties",
    "d": "dry",
    "s": "top_n_sigma",
    "k": "top_k",
    "y": "typ_p",
    "p": "top_p",
    "m": "min_p",
    "x": "xtc",
    "t": "temperature",
    "i": "infill",
    "a": "adaptive_p",
}
KNOWN = tuple(LETTERS.values())
OTHER_NAMES = {
    "nucleus": "top_p",
    "temp": "temperature",
    "typ": "typ_p",
    "typical": "typ_p",
    "typical_p": "typ_p",
    "penalty": "penalties",
}


def sampler_names(value: str | Iterable[str], field: str = "samplers") -> tuple[str, ...]:
    """The samplers that `value` names, in its order.

    A list holds names: any case, with "-" or without "_", some by another name ("nucleus", "temp", "typical"). A string
    is read as one-letter codes if it can be, else as names between semicolons or commas.
    Raises InvalidRequest that lists what there is when a name is unknown.
    """
    if not isinstance(value, str):
        return tuple(_canonical(name, field) for name in value)
    if set(value) <= set(LETTERS):
        return tuple(LETTERS[letter] for letter in value)
    return tuple(_canonical(name, field) for name in value.replace(",", ";").split(";") if name.strip())


def _canonical(name: str, field: str) -> str:
    wanted = name.strip().lower().replace("-", "_")
    wanted = OTHER_NAMES.get(wanted, wanted)
    for known in KNOWN:
        if wanted in (known, known.replace("_", "")):
            return known
    letters = ", ".join(f"{name} ({letter})" for letter, name in LETTERS.items())
    raise InvalidRequest(f'"{field}" names an unknown sampler, {name!r:.60}; there are: {letters}', field)
