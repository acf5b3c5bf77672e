"""The OpenAI client as an agent: three turns with tools, streamed and whole, sending back what it was sent."""

import json
import sys
from typing import Any

import openai


def tool(name: str, key: str) -> dict[str, Any]:
    """A tool with one short text argument."""
    parameters = {"type": "object", "properties": {key: {"type": "string", "maxLength": 12}}, "required": [key]}
    return {
        "type": "function",
        "function": {"name": name, "description": f"Looks up a {key}", "parameters": parameters},
    }


TOOLS = [tool("get_weather", "city"), tool("get_time", "zone")]


def turn(client: openai.OpenAI, messages: list[Any], stream: bool, choice: str) -> Any:
    """The assistant's next message."""
    asked: dict[str, Any] = {"model": "m", "messages": messages, "tools": TOOLS, "tool_choice": choice}
    asked |= {"temperature": 0, "max_tokens": 300}
    if choice == "none":
        asked["stop"] = [".", "!", "?", "\n"]  # the helper below raises when words run into the limit
    if not stream:
        return client.chat.completions.create(**asked).choices[0].message
    with client.chat.completions.stream(**asked) as events:
        for _ in events:
            pass
        return events.get_final_completion().choices[0].message


def loop(client: openai.OpenAI, stream: bool) -> list[Any]:
    """Three rounds of question, call, result, answer."""
    messages: list[Any] = [{"role": "system", "content": "You help with travel."}]
    for question in ("Weather in Rome?", "And what time is it in Tokyo?", "Thanks. Weather in Oslo?"):
        messages.append({"role": "user", "content": question})
        message = turn(client, messages, stream, "required")
        assert message.tool_calls, message
        messages.append(message)
        for call in message.tool_calls:
            assert isinstance(json.loads(call.function.arguments), dict)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": "fine"})
        messages.append(turn(client, messages, stream, "none"))
        assert messages[-1].content is not None
    return messages


def main() -> None:
    """Run the loop both ways; the models' words are the same."""
    with openai.OpenAI(base_url=f"{sys.argv[1]}/v1", api_key="none", max_retries=0) as client:
        whole, streamed = loop(client, False), loop(client, True)
        pairs = [(a, b) for a, b in zip(whole, streamed, strict=True) if not isinstance(a, dict)]
        assert [a.content for a, _ in pairs] == [b.content for _, b in pairs]
        print(f"openai {openai.__version__}: {len(whole)} messages, whole and streamed")


if __name__ == "__main__":
    main()
