"""The tools of a request and which of them the model may or must call, checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llama.errors import InvalidRequest

EMPTY = {"name": "", "description": ""}


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The tools that are shown, the ones that may be called (name -> parameters), and whether one must be."""

    shown: list[dict[str, Any]] = field(default_factory=list)
    callable: dict[str, Any] = field(default_factory=dict)
    required: bool = False


def tool_use(tools: Any, choice: Any) -> ToolUse:
    """What `tools` and `tool_choice` mean. Raises InvalidRequest that names the field."""
    shown = checked_tools(tools)
    schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in shown}
    if isinstance(choice, Mapping):
        return chosen(choice, shown, schemas)
    if choice not in (None, "auto", "none", "required"):
        raise InvalidRequest(
            f'Invalid tool_choice: {choice!r}; it must be "auto", "none", "required" or name a function', "tool_choice"
        )
    if choice == "required" and not schemas:
        raise InvalidRequest('tool_choice is "required", but there are no tools', "tool_choice")
    return ToolUse(shown, {} if choice == "none" else schemas, choice == "required")


def chosen(choice: Mapping[str, Any], shown: list[dict[str, Any]], schemas: dict[str, Any]) -> ToolUse:
    """A choice in the form of an object: one function, or some that are allowed."""
    kind = choice.get("type", "function")
    if kind == "allowed_tools":
        inner = choice.get("allowed_tools", choice)
        names = [named(tool) for tool in inner.get("tools") or ()]
        required = inner.get("mode") == "required"
    elif kind == "function":
        names, required = [named(choice)], True
    else:
        raise InvalidRequest(f'Invalid tool_choice: the type {kind!r} is not known, use "function"', "tool_choice")
    for name in names:
        if name not in schemas:
            known = ", ".join(map(str, schemas)) or "none"
            raise InvalidRequest(f"tool_choice names the function {name!r}, but the tools are: {known}", "tool_choice")
    return ToolUse(shown, {name: schemas[name] for name in names}, required)


def named(tool: Any) -> str:
    """The function's name in a choice."""
    if isinstance(tool, Mapping):
        function = tool.get("function", tool)
        if isinstance(function, Mapping) and isinstance(function.get("name"), str):
            return str(function["name"])
    raise InvalidRequest('Invalid tool_choice: a function needs a "name"', "tool_choice")


def checked_tools(tools: Any) -> list[dict[str, Any]]:
    """The function tools. Raises InvalidRequest for one that is no tool; other kinds of tools are left out."""
    if tools is None:
        return []
    if not isinstance(tools, Sequence) or isinstance(tools, str):
        raise InvalidRequest('"tools" must be an array', "tools")
    return [
        checked_tool(tool, index)
        for index, tool in enumerate(tools)
        if not isinstance(tool, Mapping) or tool.get("type", "function") == "function"
    ]


def checked_tool(tool: Any, index: int) -> dict[str, Any]:
    """One function tool."""
    place = f"tools[{index}]"
    if not isinstance(tool, Mapping):
        raise InvalidRequest(f"{place} must be an object", "tools")
    function = tool.get("function", tool if "name" in tool else None)
    if not isinstance(function, Mapping):
        raise InvalidRequest(f'{place} needs an object "function"', "tools")
    name, parameters = function.get("name"), function.get("parameters")
    if not isinstance(name, str) or not name:
        raise InvalidRequest(f'{place}.function needs a "name"', "tools")
    if parameters is not None and not isinstance(parameters, dict | bool):
        raise InvalidRequest(f'tool "{name}": {place}.function.parameters must be a JSON Schema object', "tools")
    return {"type": "function", "function": {**EMPTY, **function, "parameters": shown_parameters(parameters)}}


def shown_parameters(parameters: Any) -> Any:
    """The parameters as templates expect them: an object with properties."""
    if not isinstance(parameters, dict):
        return {"type": "object", "properties": {}}
    plain = parameters.get("type", "object") == "object" and "properties" not in parameters
    return {"type": "object", **parameters, "properties": {}} if plain else parameters


def described(tool: dict[str, Any]) -> dict[str, Any]:
    """The tool with a description and a type for every argument, which some templates insist on."""
    function = tool["function"]
    properties = function["parameters"].get("properties") or {}
    full = {
        name: {"description": "", "type": "string", **schema} if isinstance(schema, dict) else schema
        for name, schema in properties.items()
    }
    return {**tool, "function": {**function, "parameters": {**function["parameters"], "properties": full}}}
