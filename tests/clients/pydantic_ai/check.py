"""Pydantic AI: output through a required tool, native output by schema, a tool of its own, streams."""

import asyncio
import sys
from importlib.metadata import version
from typing import Literal

from pydantic import BaseModel, Field
from pydantic_ai import Agent, NativeOutput, ToolOutput
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings


class Pet(BaseModel):
    """An animal that lives with people."""

    kind: Literal["cat", "dog"]
    name: str = Field(max_length=10)
    age: int = Field(ge=0, le=30)


async def main() -> None:
    """Each kind of output comes at the first try, and a conversation goes on with its own history."""
    model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=f"{sys.argv[1]}/v1", api_key="none"))
    settings = ModelSettings(temperature=0, max_tokens=150)
    for output in (ToolOutput(Pet), NativeOutput(Pet)):
        agent = Agent(model, output_type=output, model_settings=settings, retries=0)
        first = await agent.run("Describe a pet.")
        assert isinstance(first.output, Pet)
        second = await agent.run("Another one.", message_history=first.all_messages())
        assert isinstance(second.output, Pet)
        async with agent.run_stream("Describe a pet.") as stream:
            assert await stream.get_output() == first.output
    talker = Agent(model, model_settings=settings)
    assert "Rome" in (await talker.run("Name the capital of Italy.")).output
    print(f"pydantic-ai {version('pydantic-ai-slim')}: tool output, native output, history, streams")


if __name__ == "__main__":
    asyncio.run(main())
