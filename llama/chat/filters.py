"""The filters of a template: Jinja's, as Hugging Face has them, each with its cost counted and its growth limited."""

import functools
import json
import textwrap
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

from jinja2 import Undefined
from jinja2.filters import FILTERS

from llama.chat import guard
from llama.chat.meter import LimitExceeded, meter

KEPT = guard.names(
    "abs attr capitalize count d default dictsort e escape first float groupby int items last length list lower map "
    "max min reject rejectattr reverse select selectattr sort striptags title trim unique upper urlencode wordcount"
)
MAX_CHUNKS = 100_000
MAX_INDENT = 64
HEAVY = 2_000_000  # characters that the slower filters still take


def to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """JSON as Hugging Face writes it into prompts: nothing escaped for HTML, keys in their own order."""
    if (len(indent) if isinstance(indent, str) else indent or 0) > MAX_INDENT:
        raise LimitExceeded("the chat template indents too far")
    if not isinstance(value, str | dict | list | Undefined) and isinstance(value, Iterable):
        value = guard.check_join("", value)
    guard.walk(value, guard.MAX_NODES)
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def join(value: Iterable[Any], d: str = "", attribute: str | int | None = None) -> Any:
    """The filter join, of which only the plain form can grow without a loop."""
    items = guard.check_join(d, value)
    if attribute is None:
        return str(d).join(str(guard.shown(item)) for item in items)
    return str(d).join(str(guard.shown(_attribute(item, attribute))) for item in items)


def _attribute(item: Any, name: str | int) -> Any:
    for part in str(name).split("."):
        item = item.get(part, "") if isinstance(item, dict) else item[int(part)]
    return item


def string(value: Any) -> Any:
    """The value as it would be shown."""
    return value if isinstance(value, str) else str(guard.shown(value))


def center(value: str, width: int = 80) -> str:
    """The text in the middle of so many columns."""
    guard.check_width(width)
    return str(value).center(width)


def indent(s: str, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    """The text with its lines indented."""
    guard.check_width(width)
    columns = width if isinstance(width, int) else len(width)
    meter().text(len(s) + (s.count("\n") + 1) * max(columns, 0))
    return str(FILTERS["indent"](s, width, first, blank))


def replace(s: str, old: str, new: str, count: int | None = None) -> str:
    """The text with `old` replaced by `new`."""
    guard.check_replace(str(s), str(old), str(new))
    return str(s).replace(str(old), str(new), -1 if count is None else count)


def percent(value: str, *args: Any, **kwargs: Any) -> Any:
    """The filter format: printf-style."""
    return guard.binary("%", str(value), kwargs or args)


def batch(value: Iterable[Any], linecount: int, fill_with: Any = None) -> list[list[Any]]:
    """Rows of `linecount` items."""
    if linecount > MAX_CHUNKS:
        raise LimitExceeded("the chat template makes rows that are too long")
    return list(FILTERS["batch"](guard.check_join("", value), linecount, fill_with))


def pieces(value: Iterable[Any], slices: int, fill_with: Any = None) -> list[list[Any]]:
    """The filter slice: so many columns."""
    if slices > MAX_CHUNKS:
        raise LimitExceeded("the chat template makes too many columns")
    items = guard.check_join("", value)
    size, longer = divmod(len(items), slices)
    ends = [number * size + min(number, longer) for number in range(slices + 1)]
    columns = [items[start:end] for start, end in pairwise(ends)]
    filled = fill_with is not None and longer > 0
    return [[*column, fill_with] if filled and number >= longer else column for number, column in enumerate(columns)]


def rounded(value: float, precision: int = 0, method: str = "common") -> float:
    """The number with so many digits after the point."""
    guard.check_width(precision * 100)
    return float(FILTERS["round"](value, precision, method))


def total(iterable: Iterable[Any], attribute: str | int | None = None, start: Any = 0) -> Any:
    """The sum, made in steps that are each counted."""
    for item in guard.check_join("", iterable):
        start = guard.binary("+", start, item if attribute is None else _attribute(item, attribute))
    return start


def truncate(s: str, length: int = 255, killwords: bool = False, end: str = "...", leeway: int | None = None) -> str:
    """The text cut to so many characters."""
    leeway = 5 if leeway is None else leeway
    if len(s) <= length + leeway:
        return s
    kept = s[: max(length - len(end), 0)]
    return (kept if killwords else kept.rsplit(" ", 1)[0]) + end


def wordwrap(s: str, width: int = 79, *args: Any, **kwargs: Any) -> Any:
    """The text in lines of so many characters."""
    guard.check_width(width)
    lines = [line for part in str(s).splitlines() or [""] for line in _wrapped(part, max(width, 1))]
    return "\n".join(lines)


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, expand_tabs=False, replace_whitespace=False) or [""]


OWN: dict[str, Callable[..., Any]] = {
    "batch": batch,
    "center": center,
    "format": percent,
    "indent": indent,
    "join": join,
    "replace": replace,
    "round": rounded,
    "safe": lambda value: value,
    "slice": pieces,
    "string": string,
    "sum": total,
    "tojson": to_json,
    "truncate": truncate,
    "wordwrap": wordwrap,
    "_joined": guard.joined,
    "_light": guard.light,
    "_literal": guard.literal,
    "_sliced": guard.sliced,
    "_steps": guard.Steps,
}
COMPARING = {"sort", "unique", "min", "max", "groupby", "dictsort"}


def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The filter, with its use and its result counted."""
    skip = 1 if hasattr(function, "jinja_pass_arg") else 0

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        counter = meter()
        counter.step()
        value = args[skip] if len(args) > skip else None
        if isinstance(value, str) and len(value) > HEAVY and name not in LIGHT:
            raise LimitExceeded(f"the chat template gives the filter {name!r} a text that is too long")
        if name in COMPARING:
            guard.walk_any(value, guard.MAX_NODES)
        return counter.made(function(*args, **kwargs))

    return run


LIGHT = {"trim", "default", "d", "length", "count", "string", "safe", "tojson", "join", "replace", "upper", "lower"}
COUNTED: dict[str, Callable[..., Any]] = {
    name: counted(name, function) if not name.startswith("_") else function
    for name, function in ({name: FILTERS[name] for name in KEPT} | OWN).items()
}
