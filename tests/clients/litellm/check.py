"""LiteLLM: its providers that speak our protocol, streams, tools, text completion, responses, Anthropic's messages."""

import json
import sys
from importlib.metadata import version
from typing import Any

import litellm

ASK = [{"role": "user", "content": "Name the capital of Italy."}]
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 12}}, "required": ["city"]}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "Weather", "parameters": PARAMETERS}}]


def chat(provider: str, base: str) -> None:
    """A whole answer equals its stream; a required tool is called."""
    asked: dict[str, Any] = {"model": f"{provider}/m", "api_base": base, "api_key": "none", "temperature": 0}
    asked |= {"messages": ASK, "max_tokens": 60, "num_retries": 0}
    whole = litellm.completion(**asked).choices[0].message.content
    assert "Rome" in whole
    assert "".join(part.choices[0].delta.content or "" for part in litellm.completion(**asked, stream=True)) == whole
    call = litellm.completion(**asked, tools=TOOLS, tool_choice="required").choices[0].message.tool_calls[0]
    assert list(json.loads(call.function.arguments)) == ["city"]


def main() -> None:
    """Run all of it."""
    base = f"{sys.argv[1]}/v1"
    for provider in ("openai", "hosted_vllm", "llamafile"):
        chat(provider, base)
    common: dict[str, Any] = {"api_base": base, "api_key": "none"}
    text = litellm.text_completion(model="text-completion-openai/m", prompt="The sky is", max_tokens=4, **common)
    assert text.choices[0].text
    answer = litellm.responses(model="openai/m", input="Name the capital of Italy.", temperature=0, **common)
    assert "Rome" in answer.output[-1].content[0].text
    message = litellm.completion(
        model="anthropic/m", messages=ASK, max_tokens=40, temperature=0, api_base=sys.argv[1], api_key="none"
    )
    assert "Rome" in message.choices[0].message.content
    try:
        litellm.completion(model="openai/m", messages=[{"role": "user", "content": "x " * 20000}], **common)
    except litellm.ContextWindowExceededError:
        pass
    else:
        raise AssertionError("a prompt beyond the context was taken")
    print(f"litellm {version('litellm')}: three providers, text, responses, messages, errors")


if __name__ == "__main__":
    main()
