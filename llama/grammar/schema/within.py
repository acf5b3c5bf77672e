"""Formats that are at most so many characters long, as patterns whose parts have fixed shares of the length.

A pattern side by side with a count of characters has a state for each pair of both: tens of thousands for an e-mail
address of at most 254. What is here is short instead. It allows fewer texts than the keywords do, never others: a part
that is longer than its share is not written, such as a host name of four labels with 63 characters each.
"""

from collections.abc import Callable, Iterable

from llama.grammar.schema.formats import ATOM, HEX, URI_CHARACTER

MOST_LABEL = 63  # RFC 1035
MOST_LOCAL = 64  # RFC 5321
SCHEME = 10  # characters of a URI's scheme; those in use are shorter
PORT = 6


def format_within(name: object, low: int, high: int) -> str | None:
    """A pattern for texts of a format with `low` to `high` characters; None where there is none."""
    make = _WITHIN.get(name) if isinstance(name, str) else None
    return make(low, high) if make is not None else None


def _label(most: int) -> str:
    return "[A-Za-z0-9]" + (f"(?:[A-Za-z0-9-]{{0,{most - 2}}}[A-Za-z0-9])?" if most > 1 else "")


def _host(high: int, counts: Iterable[int] = range(1, 8)) -> str | None:
    """Host names of some labels that share the length evenly; of two to four also with one long label."""
    shares = []
    for count in counts:
        left = high - count + 1  # without the dots
        even = min(MOST_LABEL, left // count)
        shares.append([even] * count)
        short = left // (count + 1)
        long = min(MOST_LABEL, left - short * (count - 1))
        if 2 <= count <= 4 and long > even:
            shares += [[short] * at + [long] + [short] * (count - 1 - at) for at in range(count)]
    options = ["\\.".join(map(_label, share)) for share in shares if min(share) > 0]
    return f"(?:{'|'.join(options)})" if options else None


def _hostname(low: int, high: int) -> str | None:
    return _host(high) if low <= 1 else None


def _email(low: int, high: int) -> str | None:
    """Two ways to share the length: a long name before the @, or a long host behind it."""
    options = []
    for local in sorted({min(MOST_LOCAL, high // 2), min(24, high // 3)}):
        # the shortest host of one label is one character long, of two labels three: the name makes up for the rest
        for counts, least in ((range(1, 2), max(1, low - 2)), (range(2, 8), max(1, low - 4))):
            host = _host(high - 1 - local, counts)
            if local >= least and host is not None:
                options.append(f"{ATOM}{{{least},{local}}}@{host}")
                more, most = max(1, least - 1), (local - 1) // 2
                if more <= most:
                    options.append(f"{ATOM}(?:\\.?{ATOM}){{{more},{most}}}@{host}")
    return f"(?:{'|'.join(options)})" if options else None


def _uri(low: int, high: int) -> str | None:
    """A scheme, and a host with a path, or a path with query and fragment; or a scheme and characters, as in mailto."""
    rest = high - SCHEME - 1
    if low > 3 or rest < 1:
        return None
    scheme = f"[A-Za-z][A-Za-z0-9+.-]{{0,{SCHEME - 1}}}:"
    options = [_characters(1, rest, "")]
    left = rest - 2 - PORT
    host = _host(min(253, left // 3))
    if host is not None:
        tail = left - min(253, left // 3)
        path = f"(?:/{_characters(0, tail - 1, '/')})?"
        mixed = f"(?:/{_characters(0, tail // 2 - 1, '/')})?"
        for mark in "\\?", "#":
            mixed += f"(?:{mark}{_characters(0, tail // 4 - 1, '/?')})?"
        options.append(f"//{host}(?::[0-9]{{1,{PORT - 1}}})?(?:{path}|{mixed})" if tail >= 8 else f"//{host}")
    return f"{scheme}(?:{'|'.join(options)})"


def _characters(low: int, high: int, more: str) -> str:
    """Characters of a URI and those of `more`; or, a third as many, with escapes of three characters among them."""
    plain = f"[{more}{URI_CHARACTER}]"
    escaped = f"(?:{plain}|%{HEX}{{2}})"
    return (
        f"(?:{plain}{{{low},{high}}}|{escaped}{{{low},{high // 3}}})" if high // 3 > low else f"{plain}{{{low},{high}}}"
    )


_WITHIN: dict[str, Callable[[int, int], str | None]] = {
    "email": _email,
    "idn-email": _email,
    "hostname": _hostname,
    "uri": _uri,
    "iri": _uri,
}
