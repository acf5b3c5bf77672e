"""Defaults: request, then command line, then model file, then ours."""

import pytest

from llama.api.defaults import native_defaults, openai_defaults
from llama.api.overrides import metadata_overrides
from llama.errors import SettingsError
from llama.settings import Settings

FILE = {"general.sampling.temp": 0.3, "general.sampling.top_k": 7, "general.sampling.sequence": "kt"}


def test_the_repeat_penalty_of_the_documentation() -> None:
    assert openai_defaults(Settings(), {}).sampling.repeat_penalty == 1.1
    assert native_defaults(Settings(), {}).sampling.repeat_penalty == 1.0
    assert openai_defaults(Settings(repeat_penalty=1.0), {}).sampling.repeat_penalty == 1.0
    assert openai_defaults(Settings(), {"general.sampling.penalty_repeat": 1.2}).sampling.repeat_penalty == 1.2


def test_the_file_counts_before_ours_and_the_command_line_before_both() -> None:
    sampling = openai_defaults(Settings(temp=0.9), FILE).sampling
    assert (sampling.temperature, sampling.top_k, sampling.top_p) == (0.9, 7, 0.95)
    assert sampling.samplers == ("top_k", "temperature")


def test_all_of_a_command_line() -> None:
    settings = Settings(
        seed=-1,
        samplers="top_k;temperature",
        logit_bias=("5+1.5", "7-3"),
        dry_sequence_breakers=("none",),
        reverse_prompt=("END",),
        grammar='root ::= "a"',
    )
    defaults = native_defaults(settings, {})
    assert defaults.sampling.seed is None
    assert defaults.sampling.samplers == ("top_k", "temperature")
    assert defaults.sampling.dry_sequence_breakers == ()
    assert defaults.logit_bias == [[5, 1.5], [7, -3.0]]
    assert defaults.stop == ("END",)
    assert defaults.rule is not None


@pytest.mark.parametrize(
    "settings", [Settings(samplers="magic"), Settings(repeat_penalty=-1.0), Settings(logit_bias=("x",))]
)
def test_senseless_settings_are_named(settings: Settings) -> None:
    with pytest.raises(SettingsError):
        native_defaults(settings, {})


def test_metadata_that_is_overridden() -> None:
    settings = Settings(override_kv=("a.b=int:5,c=bool:true", "d=str:x"), rope_freq_base=1e6, rope_scale=4.0)
    assert metadata_overrides(settings, "llama") == {
        "a.b": 5,
        "c": True,
        "d": "x",
        "llama.rope.freq_base": 1e6,
        "llama.rope.scaling.factor": 4.0,
        "llama.rope.scaling.type": "linear",
    }
    with pytest.raises(SettingsError, match="KEY=TYPE:VALUE"):
        metadata_overrides(Settings(override_kv=("a=5",)), "llama")
