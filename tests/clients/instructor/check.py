"""instructor: objects out of a named tool, out of a schema, in part while they grow, and several in a stream."""

import sys
from importlib.metadata import version
from typing import Literal

import instructor
import openai
from pydantic import BaseModel, Field


class Pet(BaseModel):
    """An animal that lives with people."""

    kind: Literal["cat", "dog"]
    name: str = Field(max_length=10)
    age: int = Field(ge=0, le=30)


def main() -> None:
    """Each way gives a Pet at the first try."""
    with openai.OpenAI(base_url=f"{sys.argv[1]}/v1", api_key="none", max_retries=0) as plain:
        asked = {"model": "m", "messages": [{"role": "user", "content": "Describe a pet."}], "max_tokens": 200}
        for mode in (instructor.Mode.TOOLS, instructor.Mode.TOOLS_STRICT, instructor.Mode.JSON_SCHEMA):
            client = instructor.from_openai(plain, mode=mode)
            pet = client.chat.completions.create(response_model=Pet, max_retries=0, temperature=0, **asked)
            assert isinstance(pet, Pet), mode
        client = instructor.from_openai(plain, mode=instructor.Mode.TOOLS)
        parts = list(client.chat.completions.create_partial(response_model=Pet, max_retries=0, temperature=0, **asked))
        assert parts[-1].kind in ("cat", "dog")
        assert parts[-1].age is not None
        several = client.chat.completions.create_iterable(
            response_model=Pet, max_retries=0, temperature=0, **{**asked, "max_tokens": 400}
        )
        assert isinstance(next(iter(several)), Pet)
    print(f"instructor {version('instructor')}: tools, strict tools, json schema, partial, iterable")


if __name__ == "__main__":
    main()
