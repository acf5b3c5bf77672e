"""What the server's process does once its model is loaded."""

import gc

import pytest

from llama.cli import watch
from tests.fakes import ScriptedModel
from tests.web.conftest import MakeService


def test_the_collector_passes_over_what_was_loaded(
    make_service: MakeService, capsys: pytest.CaptureFixture[str]
) -> None:
    service = make_service(ScriptedModel("hi"))
    before = gc.get_freeze_count()
    try:
        watch._wait(service)
        assert gc.get_freeze_count() > before
    finally:
        gc.unfreeze()
    assert "try: curl" in capsys.readouterr().out
