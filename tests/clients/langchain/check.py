"""LangChain: chat, streams, structured output in both ways, the text model, and an agent with two tools."""

import sys
from importlib.metadata import version
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAI
from pydantic import BaseModel, Field


class Pet(BaseModel):
    """An animal that lives with people."""

    name: str = Field(max_length=10)
    age: int = Field(ge=0, le=30)


@tool
def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"It rains in {city[:20]}."


@tool
def get_time(zone: str) -> str:
    """Tell the time in a zone."""
    return f"It is noon in {zone[:20]}."


def chat(model: ChatOpenAI) -> None:
    """An answer and its stream."""
    answer = model.invoke("Name the capital of Italy.")
    assert "Rome" in answer.content
    chunks = list(model.stream("Name the capital of Italy."))
    assert "".join(str(chunk.content) for chunk in chunks) == answer.content
    assert any(chunk.usage_metadata for chunk in chunks)


def structured(model: ChatOpenAI) -> None:
    """Pydantic objects, by schema and by tool."""
    for method in ("json_schema", "function_calling"):
        pet = model.with_structured_output(Pet, method=method).invoke("Describe a pet.")
        assert isinstance(pet, Pet), (method, pet)


def agent(model: ChatOpenAI) -> None:
    """The model must call a tool, then may say what it wants; the history goes back each time."""
    bound = model.bind_tools([get_weather, get_time], tool_choice="required")
    history: list[Any] = [("user", "Weather in Rome?")]
    for question in ("And the time in Tokyo?", "And the weather in Oslo?", "Thanks."):
        message = bound.invoke(history)
        assert message.tool_calls
        history.append(message)
        for call in message.tool_calls:
            chosen = {"get_weather": get_weather, "get_time": get_time}[call["name"]]
            history.append(ToolMessage(chosen.invoke(call["args"]), tool_call_id=call["id"]))
        history += [model.invoke(history), ("user", question)]
    made = create_agent(model, [get_weather, get_time])
    result = made.invoke({"messages": [("user", "What is the weather in Rome?")]}, {"recursion_limit": 12})
    assert isinstance(result["messages"][-1], AIMessage)


def main() -> None:
    """Run all of it."""
    shared: dict[str, Any] = {"model": "m", "base_url": f"{sys.argv[1]}/v1", "api_key": "none", "max_retries": 0}
    model = ChatOpenAI(**shared, temperature=0, max_completion_tokens=100, stream_usage=True)
    chat(model)
    structured(model)
    agent(model)
    assert "Rome" in str(
        ChatOpenAI(**shared, use_responses_api=True, temperature=0).invoke("Name the capital of Italy.").content
    )
    text = OpenAI(**shared, temperature=0, max_tokens=8)
    assert text.invoke("The capital of France is") == "".join(text.stream("The capital of France is"))
    print(f"langchain-openai {version('langchain-openai')}: chat, structured output, tools, agent, text, responses")


if __name__ == "__main__":
    main()
