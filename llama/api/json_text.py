"""JSON in and out, strictly: what we accept we can always write back as UTF-8."""

import json
import math
from typing import NoReturn

from llama.errors import InvalidRequest

ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def decode(data: bytes) -> object:
    """The value that `data` writes. Raises InvalidRequest for what is not JSON, NaN and lone surrogates too."""
    if not data.strip():
        raise InvalidRequest("the request body is empty; send a JSON object")
    try:
        value: object = json.loads(data.decode("utf-8-sig"), parse_constant=_refuse, parse_float=_finite)
        if b"\\u" in data:
            ENCODER.encode(value).encode()
    except UnicodeEncodeError:
        raise InvalidRequest("the request body holds half of a surrogate pair (\\ud800 to \\udfff alone)") from None
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"the request body is not UTF-8: byte {error.start} is wrong") from None
    except RecursionError:
        raise InvalidRequest("the request body is nested too deeply") from None
    except ValueError as error:
        raise InvalidRequest(f"the request body is not JSON: {error}") from None
    return value


def decode_object(data: bytes) -> dict[str, object]:
    """The JSON object that `data` writes. Raises InvalidRequest."""
    value = decode(data)
    if not isinstance(value, dict):
        raise InvalidRequest(f"the request body must be a JSON object, but is {kind_of(value)}")
    return value


def encode(value: object) -> bytes:
    """`value` as UTF-8; half characters, which only a broken model can bring, become U+FFFD."""
    return ENCODER.encode(value).encode("utf-8", "replace")


def kind_of(value: object) -> str:
    """What JSON calls the type of `value`, with its article left out."""
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def shown(value: object, limit: int = 60) -> str:
    """`value` as a message shows it: JSON, cut when long."""
    text = ENCODER.encode(value)
    return text if len(text) <= limit else f"{text[:limit]}..."


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number that JSON has")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is too large a number")
    return value
