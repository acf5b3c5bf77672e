"""Command lines and environments of llama-server become settings."""

import contextlib
import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llama.cli import docs
from llama.errors import SettingsError
from llama.settings import Settings, help_text, markdown, read_settings
from llama.settings.inapplicable import IGNORED, REFUSED
from llama.settings.read import options


def read(line: str, **environment: str) -> Settings:
    return read_settings(line.split(), environment)


def test_nothing_given_gives_the_defaults() -> None:
    assert read("") == Settings()
    assert Settings().host == ("127.0.0.1",)
    assert (Settings().port, Settings().n_slots, Settings().n_http_threads) == (8080, 4, 128)


def test_short_long_and_underscored_flags_are_the_same() -> None:
    assert read("-c 512").ctx_size == read("--ctx-size 512").ctx_size == read("--ctx_size 512").ctx_size == 512
    assert read("--ctx-size=512").ctx_size == 512


def test_negative_numbers_are_values() -> None:
    assert read("-n -1 --sse-ping-interval -1 -s -1").sse_ping_interval == -1


@pytest.mark.parametrize(
    ("word", "value"), [("1", True), ("on", True), ("ENABLED", True), ("0", False), ("off", False)]
)
def test_words_for_switches_in_the_environment(word: str, value: bool) -> None:
    assert read("", LLAMA_ARG_ENDPOINT_METRICS=word).metrics is value


def test_a_flag_beats_the_variable_and_no_variables_switch_off() -> None:
    assert read("--port 1234", LLAMA_ARG_PORT="99").port == 1234
    assert read("--no-slots", LLAMA_ARG_ENDPOINT_SLOTS="1").slots is False
    assert read("", LLAMA_ARG_NO_CONTEXT_SHIFT="x", LLAMA_ARG_CONTEXT_SHIFT="1").context_shift is False
    assert read("--no-metrics --metrics").metrics is True


def test_lists() -> None:
    assert read("--host 127.0.0.1,::1,/run/llama.sock").host == ("127.0.0.1", "::1", "/run/llama.sock")
    assert read("--alias b,a").alias == ("b", "a")
    assert read_settings(["-r", "a, b", "-r", "c"], {}).reverse_prompt == ("a, b", "c")


def test_an_unknown_flag_names_the_nearest() -> None:
    with pytest.raises(SettingsError, match="--ctx-sizes; did you mean --ctx-size"):
        read("--ctx-sizes 3")


@pytest.mark.parametrize(
    "line",
    ["-c", "-c many", "--port 0", "--pooling sum", "-np 0", "--metrics=yes", "--api-prefix api", "--ssl-key-file k"],
)
def test_senseless_lines_are_refused(line: str) -> None:
    with pytest.raises(SettingsError):
        read(line)


def test_the_message_names_the_flag_and_the_value() -> None:
    with pytest.raises(SettingsError, match="--ctx-size: expected a whole number, got 'x'"):
        read("--ctx-size x")
    with pytest.raises(SettingsError, match="LLAMA_ARG_CTX_SIZE"):
        read("", LLAMA_ARG_CTX_SIZE="x")


def test_a_gpu_command_line_runs_with_one_warning_a_flag(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        settings = read("-m m.gguf -ngl 99 -fa on -fa -c 4096 --mlock -cb --numa isolate --jinja")
    assert (settings.model, settings.ctx_size) == ("m.gguf", 4096)
    assert [r.message.split()[0] for r in caplog.records] == ["-ngl", "-fa", "-fa", "--mlock", "-cb", "--numa"]


def test_what_would_change_answers_is_refused() -> None:
    with pytest.raises(SettingsError, match="--control-vector: control vectors are not supported"):
        read("--control-vector a.gguf")


def test_adapters_keep_their_order_across_both_flags() -> None:
    settings = read("--lora-scaled c.gguf:0.5,d:e.gguf:-2 --lora a.gguf,b:x.gguf --lora f.gguf")
    assert settings.lora == (("c.gguf", 0.5), ("d:e.gguf", -2), ("a.gguf", 1), ("b:x.gguf", 1), ("f.gguf", 1))
    assert read_settings([], {"LLAMA_ARG_LORA": '"a,b.gguf":3,c.gguf'}).lora == (("a,b.gguf", 3), ("c.gguf", 1))
    assert not settings.lora_init_without_apply
    assert read("--lora-init-without-apply").lora_init_without_apply


@pytest.mark.parametrize("wrong", ["a.gguf,", ",a.gguf", ":2", "a.gguf:nan"])
def test_wrong_adapters_are_refused(wrong: str) -> None:
    with pytest.raises(SettingsError, match="--lora"):
        read_settings(["--lora", wrong], {})


def test_keys_come_from_flag_and_file(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("# ours\nk3\n\n k4 \n")
    assert read(f"--api-key k1,k2 --api-key-file {tmp_path / 'keys'}").keys() == {"k1", "k2", "k3", "k4"}
    with pytest.raises(SettingsError, match="--api-key-file"):
        read("--api-key-file /nowhere").keys()


def test_no_flag_or_variable_has_two_meanings() -> None:
    flags = [flag for row in options().values() for flag in (*row.flags, *row.off)]
    flags += [flag for row in (*IGNORED, *REFUSED) for flag in row.flags]
    assert len(flags) == len(set(flags))
    variables = [row.env for row in (*options().values(), *IGNORED, *REFUSED) if row.env]
    assert len(variables) == len(set(variables))


def test_help_and_documentation_name_every_flag() -> None:
    for row in options().values():
        for flag in row.flags:
            assert flag in help_text()
            assert flag in markdown()


def test_the_page_of_settings_is_what_make_docs_writes() -> None:
    assert docs.TARGET.read_text() == docs.page()


def test_help_begins_with_the_model() -> None:
    assert help_text().splitlines()[2].split()[:2] == ["-m,", "--model"]


@given(st.lists(st.text(max_size=12), max_size=6))
def test_any_line_gives_settings_or_an_error_of_ours(words: list[str]) -> None:
    with contextlib.suppress(SettingsError):
        read_settings(words, {})


def test_the_context_of_a_slot() -> None:
    assert read("-c 512").n_shares == read("-c 512 -np 2 -kvu").n_shares == 1
    assert read("-c 512 -np 2").n_shares == read("-np 2 -no-kvu").n_shares == 2
    assert read("-no-kvu").n_shares == 4
