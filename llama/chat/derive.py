"""The format of a template that no declaration knows, found in what the template itself writes for tool calls.

Made-up calls are rendered; the text round the made-up names and values is the family's markup. The result is used only
if it reads those calls back.
"""

import functools
import json
from dataclasses import dataclass
from typing import Any

import regex

from llama.chat.abilities import TOOL, USER, call
from llama.chat.bodies.head import HeadBody, spaced
from llama.chat.bodies.jsonbody import JsonBody
from llama.chat.bodies.keyed import KeyedBody
from llama.chat.bodies.python import PythonBody
from llama.chat.bodies.tagged import TaggedBody
from llama.chat.format import Body, ChatFormat, Markers
from llama.chat.formats import format_of, generic, thought_of
from llama.chat.parser import MessageParser
from llama.chat.reader import ReadOptions
from llama.chat.template import ChatTemplate
from llama.errors import TemplateError

NAME, OTHER, ID = "probe_tool", "second_tool", "call00001"
KEYS = ("probe_key", "later_key")
VALUES = ("probe_value", "later_value")
NEWLINE = "\n"
KEY = r"""(?P<key>[^\s<>"']+)"""
ARGUMENTS = dict(zip(KEYS, VALUES, strict=True))
SCHEMA = {"type": "object", "properties": {key: {"type": "string", "description": "probe"} for key in KEYS}}
TOOLS = [
    {**TOOL, "function": {"name": name, "description": "probe", "parameters": {**SCHEMA, "required": list(KEYS)}}}
    for name in (NAME, OTHER)
]


@functools.lru_cache(maxsize=64)
def format_for(template: ChatTemplate) -> ChatFormat:
    """The format of a template: a declared one, or a derived one, or the generic one."""
    declared = format_of(template.text)
    if declared is not generic.FORMAT or not (template.abilities.calls and template.abilities.tools):
        return declared
    return derived(template) or declared


def derived(template: ChatTemplate) -> ChatFormat | None:
    """The format that the template's own renderings show, or None if they show none that can be read."""
    one = written(template, call(ARGUMENTS, NAME, ID))
    two = written(template, call(ARGUMENTS, NAME, ID), call(ARGUMENTS, OTHER, "call00002"))
    first = find(one, NAME)
    if first is None:
        return None
    format = ChatFormat(
        name="derived",
        recognise=lambda text: text == template.text,
        markers=markers(one, two, first),
        body=first.body,
        openers=() if one[: first.start].strip() else bare_openers(first.body),
    )
    return format if usable(format, template, one, two) else None


def written(template: ChatTemplate, *calls: dict[str, Any]) -> str:
    """What stands in an assistant's turn that makes these calls."""
    turn = {"role": "assistant", "content": "", "tool_calls": list(calls)}
    plain = {"role": "assistant", "content": VALUES[0]}
    try:
        opened = template.render([USER], TOOLS)
        full = template.render([USER, turn], TOOLS, add_generation_prompt=False)
        closed = template.render([USER, plain], TOOLS, add_generation_prompt=False)
    except TemplateError:
        return ""
    same = next((at for at, (a, b) in enumerate(zip(opened, full, strict=False)) if a != b), len(opened))
    half = regex.search(r"<[^<>\s]{0,40}$", full[:same])
    text = full[half.start() if half else same :]
    text = text.removesuffix(closed[closed.rfind(VALUES[0]) + len(VALUES[0]) :])
    thought = thought_of(template.text, generic.FORMAT)
    return text.rpartition(thought.end)[2] if thought.end in text.partition(NAME)[0] else text


@dataclass(frozen=True, slots=True)
class Found:
    """One call in a rendering: where its body stands, and what kind of body that is."""

    start: int
    end: int
    body: Body


def find(text: str, name: str) -> Found | None:
    """The call of the tool `name` in the text."""
    at = text.find(name)
    if at < 0:
        return None
    return in_json(text, at, name) or in_python(text, at, name) or in_head(text, at, name) or in_tags(text, at, name)


def in_json(text: str, at: int, name: str) -> Found | None:
    """A call inside of a JSON object, or a list of them."""
    for match in regex.finditer(r"[\[{]", text[:at]):
        try:
            value, end = json.JSONDecoder().raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        listed = isinstance(value, list)
        item = value[0] if listed and value else value
        if not isinstance(item, dict) or name not in text[match.start() : end]:
            continue
        if list(item) == [name]:
            return Found(match.start(), end, KeyedBody())
        body = json_body(item, name, listed)
        if body is not None:
            return Found(match.start(), end, body)
    return None


def json_body(item: dict[str, Any], name: str, listed: bool) -> JsonBody | None:
    """The body that such an object is an example of."""
    inner = item["function"] if isinstance(item.get("function"), dict) else item
    names = [key for key, value in inner.items() if value == name]
    keys = [key for key, value in inner.items() if value == ARGUMENTS or (isinstance(value, str) and KEYS[0] in value)]
    ids = [key for key, value in item.items() if value == ID]
    if not names or not keys or inner is not item:
        return None
    late = bool(ids) and list(item).index(ids[0]) > list(item).index(keys[0])
    known = JsonBody()
    return JsonBody(
        name=names[0],
        arguments=keys[0],
        id=ids[0] if ids else "",
        id_form="any",
        id_last=late,
        listed=listed,
        names=(names[0], *known.names),
        keys=(keys[0], *known.keys),
        ids=(*ids, *known.ids),
    )


def in_python(text: str, at: int, name: str) -> Found | None:
    """A call written as Python, perhaps in a list."""
    match = regex.compile(rf"{name}\({KEYS[0]}\s*=[^)]*\)").match(text, at)
    if match is None:
        return None
    listed = text[:at].rstrip().endswith("[")
    start = text.rfind("[", 0, at) if listed else at
    closing = text.find("]", match.end()) if listed else -1
    return Found(start, closing + 1 if closing >= 0 else match.end(), PythonBody())


def in_head(text: str, at: int, name: str) -> Found | None:
    """A name with arguments as a JSON object behind it."""
    brace = text.find("{", at)
    try:
        value, end = json.JSONDecoder().raw_decode(text, brace) if brace > at else (None, 0)
    except (ValueError, RecursionError):
        return None
    head = text[at + len(name) : brace]
    if value != ARGUMENTS or not head.strip() or "{" in head:
        return None
    places = head.replace(ID, "{id}")
    return Found(at, end, HeadBody(head="{name}" + places, id="{id}" if "{id}" in places else "", id_form="any"))


def in_tags(text: str, at: int, name: str) -> Found | None:
    """A name with the arguments in tags behind it."""
    key1, value1 = text.find(KEYS[0], at), text.find(VALUES[0], at)
    key2, value2 = text.find(KEYS[1], at), text.find(VALUES[1], at)
    if not at < key1 < value1 < key2 < value2:
        return None
    before = text[at + len(name) : key1]
    behind_key, behind_value = text[key1 + len(KEYS[0]) : value1], text[value1 + len(VALUES[0]) : key2]
    opening = common_end(before, behind_value).lstrip(">]|")  # these end the tag before, whichever it is
    close = behind_value[: len(behind_value) - len(opening)]
    tail = before[: len(before) - len(opening)]
    if not close.strip() or not (opening.strip() or behind_key.strip()):
        return None
    body = TaggedBody(
        head=r"\s*{names}" + spaced(tail),
        open=rf"\s*{spaced(opening)}{KEY}{spaced(behind_key.rstrip(NEWLINE))}{newline(behind_key)}",
        close=("\\n?" if close.startswith("\n") else "") + spaced(close.strip()),
        end=r"\s*",
        write_head="{name}" + tail,
        write_open=opening + "{key}" + behind_key,
        write_close=close,
    )
    return Found(at, value2 + len(VALUES[1]) + len(close), body)


def newline(text: str) -> str:
    """A pattern for the line break that a text ends with, if it does."""
    return "\\n?" if text.endswith("\n") else ""


def common_end(first: str, second: str) -> str:
    """The longest text that both end with."""
    size = next((n for n, (a, b) in enumerate(zip(first[::-1], second[::-1], strict=False)) if a != b), None)
    size = min(len(first), len(second)) if size is None else size
    return first[len(first) - size :]


def markers(one: str, two: str, first: Found) -> Markers:
    """The fixed text round calls, from a turn with one call and a turn with two."""
    before, behind = one[: first.start].lstrip(), one[first.end :].rstrip()
    second = find(two, OTHER) if not first.body.lists else None
    again = find(two, NAME) if second is not None else None
    if second is None or again is None or second.start <= again.end:
        return Markers(begin=before, end=behind)
    gap = two[again.end : second.start]
    begin = common_end(before, gap)
    rest = gap[: len(gap) - len(begin)]
    end = common_end(behind[::-1], rest[::-1])[::-1]
    return Markers(
        section_begin=before[: len(before) - len(begin)],
        begin=begin,
        end=end,
        section_end=behind[len(end) :],
        between=rest[len(end) :],
    )


def bare_openers(body: Body) -> tuple[str, ...]:
    """What opens a call that has no marker before it: the call itself, with the name of a tool."""
    if isinstance(body, JsonBody):
        start = r"\[\s*\{" if body.listed else r"\{"
        return (rf'(?P<body>{start})\s*"{regex.escape(body.name)}"\s*:\s*"{{names}}"',)
    return ()


def usable(format: ChatFormat, template: ChatTemplate, one: str, two: str) -> bool:
    """True if the format reads the renderings back that it was made from."""
    if not format.markers.begin.strip() and not format.markers.section_begin.strip() and not format.openers:
        return False
    wanted = [(one, [NAME])] + ([(two, [NAME, OTHER])] if template.abilities.parallel else [])
    for text, names in wanted:
        parser = MessageParser(format, ReadOptions(tools=dict.fromkeys((NAME, OTHER), SCHEMA)))
        parser.feed(text)
        parser.flush()
        calls: Any = parser.message.get("tool_calls", [])
        if [item["function"]["name"] for item in calls] != names or parser.message["content"]:
            return False
        if any(json.loads(item["function"]["arguments"]) != ARGUMENTS for item in calls):
            return False
    return True
