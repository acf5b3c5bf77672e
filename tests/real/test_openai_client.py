"""The official Python client: what its users call works, and its error classes come up."""

import json
from collections.abc import Iterator
from enum import Enum
from typing import Any, Literal

import openai
import pydantic
import pytest
from openai import OpenAI

from tests.running import RunningServer

pytestmark = pytest.mark.real_model

ASK = [{"role": "user", "content": "Name the capital of Italy."}]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "strict": True,
            "parameters": {
                "type": "object",
                "properties": {key: {"type": "string", "maxLength": 12}},
                "required": [key],
                "additionalProperties": False,
            },
        },
    }
    for name, description, key in [("get_time", "The time in a zone", "zone"), ("get_weather", "The weather", "city")]
]


class Mood(Enum):
    """How somebody feels."""

    happy = "happy"
    sad = "sad"


class Pet(pydantic.BaseModel):
    """What the model has to describe."""

    kind: Literal["cat", "dog"]
    age: int = pydantic.Field(ge=0, le=30)
    mood: Mood
    toys: list[Literal["ball", "bone"]] = pydantic.Field(max_length=2)


@pytest.fixture(scope="module")
def client(real_server: RunningServer) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{real_server.url}/v1", api_key="none", max_retries=0, timeout=60) as made:
        yield made


def chat(client: OpenAI, **fields: Any) -> Any:
    """A greedy chat completion."""
    defaults: dict[str, Any] = {"model": "m", "messages": ASK, "temperature": 0, "max_completion_tokens": 60}
    return client.chat.completions.create(**{**defaults, **fields})


def test_chat(client: OpenAI) -> None:
    answer = chat(client)
    assert "Rome" in answer.choices[0].message.content
    assert answer.usage.prompt_tokens_details.cached_tokens >= 0


def test_chat_stream(client: OpenAI) -> None:
    expected = chat(client).choices[0].message.content
    with client.chat.completions.stream(model="m", messages=ASK, temperature=0, max_completion_tokens=60) as stream:
        deltas = [event.delta for event in stream if event.type == "content.delta"]
        final = stream.get_final_completion()
    assert "".join(deltas) == final.choices[0].message.content == expected
    chunks = list(chat(client, stream=True, stream_options={"include_usage": True}))
    assert chunks[-1].usage.completion_tokens > 0
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == expected


def test_leaving_a_stream_early(client: OpenAI) -> None:
    with chat(client, stream=True, max_completion_tokens=500) as stream:
        next(iter(stream))
    assert chat(client, max_completion_tokens=1).choices


def test_log_probabilities(client: OpenAI) -> None:
    entries = chat(client, logprobs=True, top_logprobs=2).choices[0].logprobs.content
    assert all(len(entry.top_logprobs) == 2 for entry in entries)


def test_required_and_named_tools(client: OpenAI) -> None:
    call = chat(client, tools=TOOLS, tool_choice="required").choices[0].message.tool_calls[0]
    assert call.function.name in ("get_time", "get_weather")
    named = {"type": "function", "function": {"name": "get_time"}}
    choice = chat(client, tools=TOOLS, tool_choice=named, parallel_tool_calls=False).choices[0]
    assert choice.finish_reason == "tool_calls"
    (call,) = choice.message.tool_calls
    assert call.function.name == "get_time"
    assert list(json.loads(call.function.arguments)) == ["zone"]


def test_tools_streamed_by_the_helper(client: OpenAI) -> None:
    expected = chat(client, tools=TOOLS, tool_choice="required").choices[0].message.tool_calls[0].function
    with client.chat.completions.stream(
        model="m", messages=ASK, temperature=0, max_completion_tokens=60, tools=TOOLS, tool_choice="required"
    ) as stream:
        done = [event for event in stream if event.type == "tool_calls.function.arguments.done"]
        message = stream.get_final_completion().choices[0].message
    assert [(event.name, event.arguments) for event in done] == [(expected.name, expected.arguments)]
    assert message.tool_calls[0].function.arguments == expected.arguments


def test_a_reply_goes_back_with_its_result(client: OpenAI) -> None:
    message = chat(client, tools=TOOLS, tool_choice="required").choices[0].message
    result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "It is noon."}
    answer = chat(client, messages=[*ASK, message, result], tools=TOOLS)
    assert answer.choices[0].finish_reason in ("stop", "length", "tool_calls")


def test_parsing_into_a_model(client: OpenAI) -> None:
    messages = [{"role": "user", "content": "Describe a pet."}]
    fields: dict[str, Any] = {"model": "m", "messages": messages, "temperature": 0, "response_format": Pet}
    pet = client.chat.completions.parse(**fields).choices[0].message.parsed
    assert isinstance(pet, Pet)
    with client.chat.completions.stream(**fields) as stream:
        assert stream.get_final_completion().choices[0].message.parsed == pet
    tool = openai.pydantic_function_tool(Pet, name="describe")
    answer = client.chat.completions.parse(model="m", messages=messages, tools=[tool], tool_choice="required")
    assert isinstance(answer.choices[0].message.tool_calls[0].function.parsed_arguments, Pet)


def test_completions(client: OpenAI) -> None:
    answer = client.completions.create(
        model="m", prompt="The sky is", max_tokens=4, temperature=0, logprobs=2, echo=True, n=1
    )
    assert answer.choices[0].text.startswith("The sky is")
    assert answer.choices[0].logprobs.token_logprobs[0] is None
    parts = client.completions.create(model="m", prompt="The sky is", max_tokens=4, temperature=0, stream=True)
    assert "The sky is" + "".join(part.choices[0].text for part in parts) == answer.choices[0].text


def test_responses(client: OpenAI) -> None:
    fields: dict[str, Any] = {
        "model": "m",
        "input": "Name the capital of Italy.",
        "temperature": 0,
        "max_output_tokens": 40,
    }
    answer = client.responses.create(**fields)
    assert "Rome" in answer.output_text
    events = list(client.responses.create(**fields, stream=True))
    assert events[0].type == "response.created"
    assert events[-1].type == "response.completed"
    assert "".join(e.delta for e in events if e.type == "response.output_text.delta") == answer.output_text
    pet = client.responses.parse(model="m", input="Describe a pet.", text_format=Pet, temperature=0).output_parsed
    assert isinstance(pet, Pet)


def test_responses_call_tools(client: OpenAI) -> None:
    tools = [{"type": "function", **tool["function"]} for tool in TOOLS]
    answer = client.responses.create(model="m", input="What time is it?", tools=tools, tool_choice="required")
    (call,) = [item for item in answer.output if item.type == "function_call"]
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "noon"}
    history = [{"role": "user", "content": "What time is it?"}, call.model_dump(exclude_none=True), result]
    assert client.responses.create(model="m", input=history, tools=tools, max_output_tokens=20).output


def test_models(client: OpenAI) -> None:
    (model,) = client.models.list()
    assert client.models.retrieve(model.id).id == model.id
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("nobody/nothing")


def test_errors(client: OpenAI, real_server: RunningServer) -> None:
    with pytest.raises(openai.BadRequestError, match="temperature") as caught:
        chat(client, temperature="warm")
    assert (caught.value.param, caught.value.type) == ("temperature", "invalid_request_error")
    with pytest.raises(openai.BadRequestError, match="context"):
        chat(client, messages=[{"role": "user", "content": "x " * 20000}], stream=True)
    with (
        OpenAI(base_url=f"{real_server.url}/nope", api_key="none", max_retries=0) as lost,
        pytest.raises(openai.NotFoundError),
    ):
        chat(lost)
