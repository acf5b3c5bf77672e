"""The operations of a template that could eat memory or time, each with its size checked before it is done."""

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sized
from itertools import chain
from types import BuiltinMethodType
from typing import Any

from jinja2 import Undefined
from jinja2.exceptions import SecurityError

from llama.chat.meter import LimitExceeded, meter

MAX_WIDTH = 10_000  # of padding
MAX_BITS = 20_000  # of an integer
MAX_NODES = 200_000  # of a value that is shown or walked through
MAX_COMPARED = 2_000  # parts of a value that is compared
PRINTF = re.compile(r"%(?:\([^)]*\))?[#0\- +]*(\*|\d+)?(?:\.(\*|\d+))?")
WIDTH = re.compile(r"\d+")
DATA = (str, int, float, bool, type(None), Undefined, range)
VIEWS: Any = (list, tuple, type({}.keys()), type({}.values()), type({}.items()))


def names(text: str) -> frozenset[str]:
    """The words of the text."""
    return frozenset(text.split())


METHODS: dict[type, frozenset[str]] = {
    str: names(
        "capitalize casefold center count endswith expandtabs find index isalnum isalpha isascii isdecimal isdigit "
        "isidentifier islower isnumeric isprintable isspace istitle isupper join ljust lower lstrip partition "
        "removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip split splitlines startswith "
        "strip swapcase title upper zfill"
    ),
    list: names("append clear copy count extend index insert pop remove reverse sort"),
    dict: names("clear copy get items keys pop popitem setdefault update values"),
    tuple: names("count index"),
    range: names("count index"),
    int: names("bit_length is_integer"),
    float: names("is_integer"),
    bool: names(""),
}


def walk(value: Any, limit: int) -> int:
    """Characters that `value` takes when shown, at least; raises if it has too many parts, or parts that are not data.

    Shared parts count each time: a few nested lists of two can stand for millions.
    """
    todo, nodes, characters = [value], 0, 0
    while todo:
        item = todo.pop()
        nodes += 1
        if isinstance(item, str):
            characters += len(item)
            nodes += len(item) // 256
        elif isinstance(item, dict):
            todo.extend(chain(item.keys(), item.values()) if len(item) <= limit else [item])
            nodes += len(item)
        elif isinstance(item, VIEWS):
            nodes += len(item)
            todo.extend(item if nodes <= limit else ())
        elif not isinstance(item, DATA):
            raise SecurityError("a chat template may only show text, numbers, lists and mappings")
        if nodes > limit:
            raise LimitExceeded("the chat template makes a value that is too large")
    return characters


def shown(value: Any) -> Any:
    """The value of a {{ }} as it goes into the text."""
    if type(value) is not str:
        if isinstance(value, Undefined):
            return value
        walk(value, MAX_NODES)
        value = str(value)
    meter().text(len(value))
    return value


def light(value: Any) -> Any:
    """A value that is going to be compared."""
    if isinstance(value, list | tuple | dict):
        walk(value, MAX_COMPARED)
    return value


def literal(value: Any) -> Any:
    """A list or mapping written in the template: its parts may be large ones."""
    walk_parts(value)
    return meter().made(value)


def walk_parts(value: Any) -> None:
    """Refuse lists of lists that stand for too much; scalars and messages pass quickly."""
    parts = value.values() if isinstance(value, dict) else value
    for part in parts:
        if isinstance(part, list | tuple | dict) and part:
            walk_any(part, MAX_NODES)


def walk_any(value: Any, limit: int) -> None:
    """As `walk`, for values that need not be data: they may hold macros or namespaces."""
    todo, nodes = [value], 0
    while todo and nodes <= limit:
        item = todo.pop()
        nodes += 1
        if isinstance(item, dict):
            todo.extend(item.values())
        elif isinstance(item, list | tuple):
            todo.extend(item)
    if nodes > limit:
        raise LimitExceeded("the chat template makes a value that is too large")


def joined(parts: Iterable[Any]) -> str:
    """The operator ~."""
    texts = [part if type(part) is str else str(shown(part)) for part in parts]
    meter().text(sum(map(len, texts)))
    return "".join(texts)


def sliced(value: Any, start: Any = None, stop: Any = None, step: Any = None) -> Any:
    """A slice, whose copy is counted."""
    return meter().made(value[start:stop:step])


class Steps:
    """An iterable of a {% for %} whose turns are counted; `cost` characters are written in each."""

    __slots__ = ("_cost", "_values")

    def __init__(self, values: Any, cost: int) -> None:
        self._values = values
        self._cost = cost

    def __len__(self) -> int:
        if not isinstance(self._values, Sized):
            raise TypeError("no length")
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        counter, cost = meter(), self._cost
        for value in self._values:
            counter.step()
            if cost:
                counter.spend(cost)
            yield value


def binary(symbol: str, left: Any, right: Any) -> Any:
    """left + right, left * right, left ** right or left % right, if the result is not too large."""
    counter = meter()
    counter.step()
    CHECKS[symbol](left, right)
    return counter.made(OPERATORS[symbol](left, right))


def _check_add(left: Any, right: Any) -> None:
    if isinstance(left, str) and isinstance(right, str):
        meter().text(len(left) + len(right))
    elif isinstance(left, list | tuple) and isinstance(right, list | tuple):
        meter().items(len(left) + len(right))


def _check_multiply(left: Any, right: Any) -> None:
    for value, times in ((left, right), (right, left)):
        if isinstance(times, int):
            if isinstance(value, str):
                meter().text(len(value) * max(times, 0))
            elif isinstance(value, list | tuple):
                meter().items(len(value) * max(times, 0))
            elif isinstance(value, int) and value.bit_length() + times.bit_length() > MAX_BITS:
                raise LimitExceeded("the chat template makes a number that is too large")


def _check_power(left: Any, right: Any) -> None:
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() * abs(right) > MAX_BITS:
        raise LimitExceeded("the chat template makes a number that is too large")


def _check_modulo(left: Any, right: Any) -> None:
    if not isinstance(left, str):
        return
    fields = PRINTF.findall(left)
    for sizes in fields:
        for size in filter(None, sizes):
            check_width(MAX_WIDTH + 1 if size == "*" else int(size[:9]))
    arguments = right if isinstance(right, tuple) else (right,)
    meter().text(len(left) + len(fields) * largest(arguments))


def largest(values: Iterable[Any]) -> int:
    """The length of the longest of these values when shown."""
    return max((walk(value, MAX_NODES) for value in values), default=0)


def check_width(width: Any) -> None:
    """Refuse to pad to a width no prompt needs."""
    if isinstance(width, int | float) and abs(width) > MAX_WIDTH:
        raise LimitExceeded("the chat template pads a text too far")


def check_spec(spec: str) -> None:
    """Refuse a format specification with a large width or precision."""
    for size in WIDTH.findall(spec):
        check_width(int(size[:9]))


CHECKS: dict[str, Callable[[Any, Any], None]] = {
    "+": _check_add,
    "*": _check_multiply,
    "**": _check_power,
    "%": _check_modulo,
}
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "*": operator.mul,
    "**": operator.pow,
    "%": operator.mod,
}


def method(bound: BuiltinMethodType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a method of a built-in value, if it is one that templates need and its result is not too large."""
    owner, name = bound.__self__, bound.__name__
    allowed = next((names for kind, names in METHODS.items() if isinstance(owner, kind)), None)
    if isinstance(owner, type) or allowed is None or name not in allowed:
        raise SecurityError(f"a chat template may not call {name!r} here")
    if name in ("center", "ljust", "rjust", "zfill", "expandtabs"):
        check_width(next(iter((*args, *kwargs.values())), 0))
    elif name == "replace" and len(args) >= 2:
        check_replace(owner, args[0], args[1])
    elif name == "join" and args:
        args = (check_join(owner, args[0]),)
    elif name == "extend" and args:
        args = (list(args[0]),)
        meter().items(len(owner) + len(args[0]))  # type: ignore[arg-type]
    elif name in ("sort", "index", "count", "remove") and isinstance(owner, list | tuple):
        walk(owner, MAX_NODES)
    return bound(*args, **kwargs)


def check_replace(text: Any, old: Any, new: Any) -> None:
    """Refuse a replacement whose result would be too long."""
    if isinstance(text, str) and isinstance(old, str) and isinstance(new, str):
        meter().text(len(text) + text.count(old) * len(new))


def check_join(separator: Any, values: Iterable[Any]) -> list[Any]:
    """The values as a list, if joining them is not too long."""
    items = list(values)
    meter().items(len(items))
    gap = len(separator) if isinstance(separator, str) else 0
    meter().text(gap * len(items) + sum(len(item) if isinstance(item, str) else 8 for item in items))
    return items
