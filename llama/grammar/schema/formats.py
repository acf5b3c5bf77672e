"""String formats as patterns that must match from end to end (RFC 3339, 4122, 5321, 2673, 4291, 3986, 6570, 6901)."""

from typing import Any

_DAY = "(?:0[1-9]|1[0-9]|2[0-8])"
_LEAP_YEAR = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"
_DATE = (
    f"(?:(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{{2}}|[1-9][0-9]{{3}})-(?:(?:0[1-9]|1[0-2])-{_DAY}"
    "|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
    f"|{_LEAP_YEAR}-02-29)"
)
_ZONE = "(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
_TIME = f"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{{1,9}})?{_ZONE}"
HEX = "[0-9a-fA-F]"
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]"
_HOST = f"{_LABEL}(?:\\.{_LABEL}){{0,6}}"
_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4 = f"{_BYTE}(?:\\.{_BYTE}){{3}}"
_GROUP = f"{HEX}{{1,4}}"
_IPV6 = "|".join(
    [f"(?:{_GROUP}:){{7}}{_GROUP}"]
    + [
        f"{':'.join([_GROUP] * before)}::{f'(?:{_GROUP}(?::{_GROUP}){{0,{6 - before}}})?' if before < 7 else ''}"
        for before in range(8)
    ]
)
_PERCENT = f"%{HEX}{{2}}"
URI_CHARACTER = "A-Za-z0-9._~!$&'()*+,;=:@-"  # inside of brackets
_PATH_CHARACTER = f"(?:[{URI_CHARACTER}]|{_PERCENT})"
_AUTHORITY = f"(?:(?:[A-Za-z0-9._~!$&'()*+,;=:-]|{_PERCENT})+@)?(?:{_HOST})(?::[0-9]{{1,5}})?"
_TAIL = f"(?:/{_PATH_CHARACTER}*)*(?:\\?(?:{_PATH_CHARACTER}|[/?])*)?(?:#(?:{_PATH_CHARACTER}|[/?])*)?"
_URI = f"[A-Za-z][A-Za-z0-9+.-]*:(?://{_AUTHORITY}{_TAIL}|{_PATH_CHARACTER}+{_TAIL})"
_DURATION_TIME = "T(?:[0-9]{1,9}H(?:[0-9]{1,9}M(?:[0-9]{1,9}S)?)?|[0-9]{1,9}M(?:[0-9]{1,9}S)?|[0-9]{1,9}S)"
_DURATION_DATE = "(?:[0-9]{1,9}Y(?:[0-9]{1,9}M(?:[0-9]{1,9}D)?)?|[0-9]{1,9}M(?:[0-9]{1,9}D)?|[0-9]{1,9}D)"

PATTERNS = {
    "date": _DATE,
    "time": _TIME,
    "date-time": f"{_DATE}T{_TIME}",
    "duration": f"P(?:{_DURATION_DATE}(?:{_DURATION_TIME})?|{_DURATION_TIME}|[0-9]{{1,9}}W)",
    "uuid": f"{HEX}{{8}}-{HEX}{{4}}-{HEX}{{4}}-{HEX}{{4}}-{HEX}{{12}}",
    "email": f"{ATOM}+(?:\\.{ATOM}+)*@{_HOST}",
    "hostname": _HOST,
    "ipv4": _IPV4,
    "ipv6": _IPV6,
    "uri": _URI,
    "uri-reference": f"(?:{_URI}|//{_AUTHORITY}{_TAIL}|(?:[A-Za-z0-9._~!$&'()*+,;=@-]|{_PERCENT})*{_TAIL})",
    "json-pointer": "(?:/(?:[^/~]|~[01])*)*",
    "relative-json-pointer": "(?:0|[1-9][0-9]{0,9})(?:#|(?:/(?:[^/~]|~[01])*)*)",
}
PATTERNS |= {f"uuid{version}": PATTERNS["uuid"] for version in range(1, 6)}
PATTERNS["idn-email"] = PATTERNS["email"]
_PLAIN = "[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*"
PATTERNS["idn-hostname"] = f"{_PLAIN}(?:\\.{_PLAIN})*"
_VARIABLE = f"(?:[A-Za-z0-9_]|{_PERCENT})+(?:\\.(?:[A-Za-z0-9_]|{_PERCENT})+)*(?::[1-9][0-9]{{0,3}}|\\*)?"
PATTERNS["uri-template"] = (
    f"(?:[^\\x00-\\x20\\x7f\"'%<>\\\\^`{{|}}]|{_PERCENT}|\\{{[+#./;?&]?{_VARIABLE}(?:,{_VARIABLE})*\\}})*"
)
PATTERNS["iri"] = PATTERNS["uri"]
PATTERNS["iri-reference"] = PATTERNS["uri-reference"]


def format_pattern(name: Any) -> str | None:
    """The pattern of a format; None for one that is not known, which JSON Schema lets pass as a remark."""
    return PATTERNS.get(name) if isinstance(name, str) else None
