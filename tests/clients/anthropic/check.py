"""Anthropic's client: messages, streams, tools and their results, counting, errors."""

import sys
from typing import Any, Literal

import anthropic
from pydantic import BaseModel

ASK: list[Any] = [{"role": "user", "content": "Name the capital of Italy."}]
GREEDY = {"extra_body": {"temperature": 0}}
TOOLS: list[Any] = [
    {
        "name": name,
        "description": f"Looks up a {key}",
        "input_schema": {"type": "object", "properties": {key: {"type": "string", "maxLength": 12}}, "required": [key]},
    }
    for name, key in (("get_weather", "city"), ("get_time", "zone"))
]


def words(client: anthropic.Anthropic) -> None:
    """A message, the same streamed, and its count."""
    asked: dict[str, Any] = {"model": "m", "messages": ASK, "system": "Be brief.", "max_tokens": 40, **GREEDY}
    message = client.messages.create(**asked)
    assert message.id.startswith("msg_")
    assert message.stop_reason in ("end_turn", "max_tokens")
    (block,) = message.content
    with client.messages.stream(**asked) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text == final.content[0].text == block.text
    assert final.usage.output_tokens == message.usage.output_tokens
    counted = client.messages.count_tokens(model="m", messages=ASK, system="Be brief.").input_tokens
    read = message.usage.input_tokens + (message.usage.cache_read_input_tokens or 0)
    assert counted == read, (counted, message.usage)


def tools(client: anthropic.Anthropic) -> None:
    """Three turns in which a tool must be called, whole and streamed."""
    for streamed in (False, True):
        messages = list(ASK)
        for choice in ({"type": "any"}, {"type": "tool", "name": "get_time"}, {"type": "any"}):
            asked: dict[str, Any] = {"model": "m", "messages": messages, "tools": TOOLS, "tool_choice": choice}
            asked |= {"max_tokens": 100, **GREEDY}
            if streamed:
                with client.messages.stream(**asked) as stream:
                    message = stream.get_final_message()
            else:
                message = client.messages.create(**asked)
            assert message.stop_reason == "tool_use", message
            calls = [block for block in message.content if block.type == "tool_use"]
            assert calls
            assert choice.get("name", calls[0].name) == calls[0].name
            results = [{"type": "tool_result", "tool_use_id": call.id, "content": "fine"} for call in calls]
            messages += [{"role": "assistant", "content": message.content}, {"role": "user", "content": results}]
        assert client.messages.create(model="m", messages=messages, tools=TOOLS, max_tokens=20).content is not None


class Pet(BaseModel):
    """An animal that lives with people. (The client takes limits of numbers and lengths out of what it sends.)"""

    kind: Literal["cat", "dog"]
    tame: bool


def structured(client: anthropic.Anthropic) -> None:
    """An answer that follows a schema."""
    ask: list[Any] = [{"role": "user", "content": "Describe a pet."}]
    message = client.messages.parse(model="m", messages=ask, max_tokens=100, output_format=Pet, **GREEDY)
    assert isinstance(message.parsed_output, Pet)


def errors(client: anthropic.Anthropic) -> None:
    """Mistakes come up as the client's own classes."""
    said = ""
    try:
        client.messages.create(model="m", messages=ASK, max_tokens=5, extra_body={"temperature": "warm"})
    except anthropic.BadRequestError as error:
        said = str(error)
    assert "temperature" in said


def main() -> None:
    """Run all of it."""
    with anthropic.Anthropic(base_url=sys.argv[1], api_key="none", max_retries=0) as client:
        words(client)
        tools(client)
        structured(client)
        errors(client)
    print(f"anthropic {anthropic.__version__}: messages, stream, count_tokens, tools, output_format, errors")


if __name__ == "__main__":
    main()
