"""The shared cases: renderings, built-in names, parsed messages and their streams, hostile templates."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.chat import chat_engine

ROOT = Path(__file__).resolve().parents[2]


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
def test_hostile_templates_are_refused_or_harmless(shared: Path) -> None:
    # in a process of its own: what a child is said to have taken begins with the size of the one that started it
    checks = [str(shared / "chat" / "check_chat.py"), "tests.chat.chat_engine", "--set", "dev", "--only", "safety"]
    for _ in range(2):  # the checker's limit is on the clock, which a busy machine can exceed: a second chance
        done = subprocess.run(
            [sys.executable, *checks],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )
        if done.returncode == 0:
            break
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^[1-9]\d* passed, 0 failed", done.stdout, re.MULTILINE), done.stdout
