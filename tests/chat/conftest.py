"""Shared data of the chat tests."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture(scope="session")
def checker(shared: Path) -> ModuleType:
    """The shared checker of chat cases, as a module."""
    spec = importlib.util.spec_from_file_location("check_chat", shared / "chat" / "check_chat.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def parse_cases(shared: Path) -> dict[str, Any]:
    """What models wrote, and the message it is."""
    return dict(json.loads((shared / "chat" / "parse-dev.json").read_text()))


@pytest.fixture(scope="session")
def template_text(shared: Path) -> Any:
    """The text of a shared template by its name."""
    return lambda name: (shared / "chat" / "templates" / f"{name}.jinja").read_text()
