"""The shared cases: renderings, built-in names, parsed messages and their streams, hostile templates."""

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.chat import chat_engine


def problems(results: Any) -> list[str]:
    found = list(results)
    assert found, "no cases"
    return [f"{result.column} {result.id}: {result.problem}" for result in found if result.problem]


def anything(case: Any) -> bool:
    return True


def test_prompts_equal_those_of_hugging_face(checker: ModuleType, shared: Path) -> None:
    cases = checker.Cases(shared / "chat")
    assert problems(checker.check_render(chat_engine, cases, anything)) == []


def test_templates_known_by_name_equal_llama_servers(checker: ModuleType, shared: Path) -> None:
    cases = checker.Cases(shared / "chat")
    assert problems(checker.check_builtin(chat_engine, cases, anything)) == []


def test_messages_and_their_streams(checker: ModuleType, shared: Path) -> None:
    cases = checker.Cases(shared / "chat")
    assert problems(checker.check_parse(chat_engine, cases, anything, 5)) == []


@pytest.mark.timeout(200)
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_hostile_templates_are_refused_or_harmless(checker: ModuleType, shared: Path) -> None:
    cases = checker.Cases(shared / "chat")
    failed = {result.id for result in checker.check_safety("tests.chat.chat_engine", cases, anything) if result.problem}
    # the checker's limit is on the clock, which a busy machine can exceed: what failed gets a second chance
    again = checker.check_safety("tests.chat.chat_engine", cases, lambda case: case["id"] in failed)
    assert [f"{result.id}: {result.problem}" for result in again if result.problem] == []
